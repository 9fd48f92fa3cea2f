import { createLogger } from '../../src/logger';

it('writes no password and no key, however deep somebody logs them', () => {
  const lines: string[] = [];
  const logger = createLogger({ level: 'info', destination: { write: (line) => void lines.push(line) } });
  const secrets = {
    'x-api-key': 'hunter2',
    dgftPassword: 'hunter2',
    password: 'hunter2',
    authorization: 'hunter2',
    apiKey: 'hunter2',
  };
  logger.info(secrets, 'flat');
  logger.info({ headers: secrets }, 'one level down');
  logger.info({ request: { body: secrets } }, 'two levels down');
  logger.debug('not at this level');
  expect(lines).toHaveLength(3);
  expect(lines.join('')).not.toContain('hunter2');
  expect(lines.join('').match(/\[redacted\]/g)).toHaveLength(15);
});
