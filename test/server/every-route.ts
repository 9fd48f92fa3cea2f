/** A request that every route takes, of the description of the API. */
import { KAVERI, type HttpStage } from './http-stage';

interface Named {
  name: string;
  method: string;
  path: string;
  /** The names of its query fields. */
  query: string[];
  json?: unknown;
}

const BODIES: Readonly<Record<string, unknown>> = {
  changeExporter: { name: 'Other name' },
  renewCredentials: { username: KAVERI.username, password: KAVERI.password },
  resolveFiling: { as: 'not-filed', note: 'x' },
  abandonFiling: { note: 'x' },
  acknowledgeFinding: { note: 'x' },
  // Refused, so that nothing is added that is another one each time.
  addWebhook: { url: 'http://erp.example/hook' },
};

/** What stands in paths and bodies. */
export interface Names {
  exporter: string;
  email: string;
  filing: string;
  number: string;
  id: string;
  webhook: string;
}

const NAMES: Names = {
  exporter: KAVERI.email,
  email: 'other@x.example',
  filing: 'NONE',
  number: 'EBRC1',
  id: '0A0A0A0A0A0A0A0A',
  webhook: 'aaaaaaaa-0000-4000-8000-000000000009',
};

/** @param given what stands in paths, and the message of what is filed or checked */
export async function everyRoute(
  stage: HttpStage,
  { message, reference = 'EVERY-1', ...given }: Partial<Names> & { message: unknown; reference?: string },
): Promise<Named[]> {
  type Operation = { operationId: string; parameters?: { name: string; in: string }[] };
  const { body } = await stage.ask<{ paths: Record<string, Record<string, Operation>> }>('GET', '/v1/openapi.json');
  const { exporter, email, ...names } = { ...NAMES, ...given };
  const own: Record<string, unknown> = {
    ...BODIES,
    onboardExporter: { name: 'Other', email, username: 'u', password: 'Secret#1' },
    check: { exporter, message },
    file: { exporter, message, reference },
    reconcile: { exporter },
    correctFiling: { message },
  };
  const inPaths: Record<string, string> = { exporter, ...names };
  return Object.entries(body.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId: name, parameters = [] }]) => ({
      name,
      method: method.toUpperCase(),
      path: path.replace(/\{(\w+)\}/g, (_, each: string) => encodeURIComponent(inPaths[each] ?? each)),
      query: parameters.filter((each) => each.in === 'query').map((each) => each.name),
      ...(method !== 'get' && { json: own[name] ?? {} }),
    })),
  );
}
