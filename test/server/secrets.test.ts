/** A password that is handed in over HTTP is nowhere but in the vault: no answer, log, record or history has it. */
import { eventually } from '../support/processes';
import { everyRow } from '../support/postgres';
import { KAVERI, onboard, openDoorStage, type DoorStage, type ProblemBody } from './door-stage';

const MARK = 'Marked-Pa55word-QX';

let stage: DoorStage;
const answered: string[] = [];

beforeAll(async () => {
  stage = await openDoorStage();
}, 300_000);
afterAll(() => stage?.close());

async function ask(method: string, path: string, json: unknown) {
  const reply = await stage.ask<ProblemBody>(method, path, { json });
  answered.push(reply.bytes.toString(), JSON.stringify([...reply.headers]));
  return reply.status;
}

it('goes to the vault, wrong or right, and nowhere else', async () => {
  const { email, username, iec } = KAVERI;
  const customer = { name: 'Kaveri Softworks', email, iec };
  const path = `/v1/exporters/${email}/credentials`;
  // Refused before anything is stored: an unknown field, a wrong type, no JSON.
  expect(await ask('POST', '/v1/exporters', { ...customer, username, password: MARK, x: 1 })).toBe(400);
  expect(await ask('POST', '/v1/exporters', { ...customer, username, password: { MARK } })).toBe(400);
  expect(await ask('POST', '/v1/exporters', { ...customer, password: MARK })).toBe(400);
  const broken = await stage.ask('POST', '/v1/exporters', {
    body: `{"password": "${MARK}", oops`,
    headers: { 'content-type': 'application/json' },
  });
  expect(broken.status).toBe(400);
  answered.push(broken.bytes.toString());
  // A wrong password that the portal rejects, and one for an exporter that there is.
  expect(await ask('POST', '/v1/exporters', { ...customer, username, password: `${MARK}-1` })).toBe(202);
  await eventually(async () => {
    const { body } = await stage.ask<{ state?: string }>('GET', `/v1/exporters/${email}`);
    return body.state === 'created' || body.state === 'unvalidated';
  });
  await eventually(async () => (await ask('PUT', path, { username, password: `${MARK}-2` })) === 202);
  expect(await onboard(stage)).toEqual(expect.any(String));
  expect(await ask('PUT', path, { username, password: `${MARK}-3` })).toBe(202);

  const places = {
    answers: answered.join('\n'),
    logs: stage.logs.join('\n'),
    ledger: await everyRow(stage.ledger.pool),
    histories: await histories(),
  };
  for (const [place, text] of Object.entries(places)) {
    expect([place, text.length > 100]).toEqual([place, true]);
    expect([place, text.includes(MARK)]).toEqual([place, false]);
    expect([place, text.includes(Buffer.from(MARK).toString('base64').slice(0, 20))]).toEqual([place, false]);
  }
  // The search finds what is there.
  expect(places.ledger).toContain(email);
  expect(places.histories).toContain('credentialsRef');
});

async function histories(): Promise<string> {
  const { workflow } = stage.deps.temporal;
  const texts: string[] = [];
  for await (const { workflowId, runId } of workflow.list()) {
    const history = await workflow.getHandle(workflowId, runId).fetchHistory();
    texts.push(
      JSON.stringify(history, (_key, value: unknown) => {
        const bytes = value as { type?: string; data?: number[] };
        if (value instanceof Uint8Array) return Buffer.from(value).toString();
        return bytes?.type === 'Buffer' && bytes.data ? Buffer.from(bytes.data).toString() : value;
      }),
    );
  }
  return texts.join('\n');
}
