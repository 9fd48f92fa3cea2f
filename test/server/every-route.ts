/** A request that every route takes, of the description of the API. */
import { KAVERI, type DoorStage } from './door-stage';

interface Named {
  name: string;
  method: string;
  path: string;
  json?: unknown;
}

const BODIES: Readonly<Record<string, unknown>> = {
  onboardExporter: { name: 'Other', email: 'other@x.example', username: 'u', password: 'Secret#1' },
  changeExporter: { name: 'Other name' },
  renewCredentials: { username: KAVERI.username, password: KAVERI.password },
  resolveFiling: { as: 'not-filed', note: 'x' },
  abandonFiling: { note: 'x' },
  acknowledgeFinding: { note: 'x' },
  addWebhook: { url: 'https://erp.example/hook' },
};

/** @param given what stands in paths, and the message of what is filed or checked */
export async function everyRoute(stage: DoorStage, given: { filing: string; message: unknown }): Promise<Named[]> {
  const { body } = await stage.ask<{ paths: Record<string, Record<string, { operationId: string }>> }>(
    'GET',
    '/v1/openapi.json',
  );
  const names: Record<string, string> = {
    exporter: KAVERI.email,
    filing: given.filing,
    number: 'EBRC1',
    id: '1',
    webhook: 'aaaaaaaa-0000-4000-8000-000000000009',
  };
  const message = { exporter: KAVERI.email, message: given.message };
  const own: Record<string, unknown> = {
    ...BODIES,
    check: message,
    file: { ...message, reference: 'EVERY-1' },
    correctFiling: { message: given.message },
  };
  return Object.entries(body.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId: name }]) => ({
      name,
      method: method.toUpperCase(),
      path: path.replace(/\{(\w+)\}/g, (_, each: string) => encodeURIComponent(names[each] ?? each)),
      ...(method !== 'get' && { json: own[name] ?? {} }),
    })),
  );
}
