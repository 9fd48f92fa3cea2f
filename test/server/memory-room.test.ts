/** Answers that nobody reads: how many bytes of them are kept. */
import { EventEmitter } from 'node:events';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createMemoryRoom } from '../../src/server/http/memory-room';

it('keeps half of its room for others, and gives back what was read', () => {
  const room = createMemoryRoom(400_000);
  const asks = (authorization: string) => ({ headers: { authorization } }) as FastifyRequest;
  const replies = Array.from(
    { length: 4 },
    () => ({ statusCode: 200, raw: new EventEmitter() }) as unknown as FastifyReply,
  );
  const answer = 'x'.repeat(90_000);
  const take = (who: string, at: number) => room.takeAnswer(asks(who), replies[at]!, answer);
  take('one', 0);
  take('one', 1);
  expect(() => take('one', 2)).toThrow(expect.objectContaining({ status: 503, code: 'busy' }) as Error);
  take('two', 2);
  room.takeAnswer(asks('one'), replies[3]!, 'small');
  replies[0]?.raw.emit('close');
  take('one', 3);
});
