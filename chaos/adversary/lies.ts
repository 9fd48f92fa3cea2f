/** Answers of the service that its specification allows, or that nothing forbids, and that are hard to read. */
import type { Script } from '../../test/scenes/service-proxy';

export const LIES = [
  'refused as a duplicate',
  'taken, and refused as a duplicate',
  'no request id',
  'the request id of before',
  'own serial numbers',
  'errored at first',
  'status in other amounts',
  'status in lower case',
  'newest certificate not listed',
  'oldest certificate not listed',
  'nothing listed',
  'listed twice',
  'listed in other amounts',
  'listed without bill and currency',
] as const;

export type Lie = (typeof LIES)[number];

type Fields = Record<string, unknown>;

/** Whether it hides certificates, or contradicts what is known of them, while it lasts. */
export const hidesCertificates = (lie: Lie): boolean => lie.includes('listed');

const REFUSAL = { statusCode: 400, message: 'Validation failed', errors: ['IRM and invoice: eBRC already exists'] };

/** @param about the exporter's id, which the body or the query of its calls has */
export function scriptOf(lie: Lie, about: string, times: number): Script {
  const push = { operation: 'push-irm', about, times: 1 };
  const status = (
    change: (entry: Fields, nth: number, all: number) => Fields,
    of = (record: Fields) => record,
  ): Script => ({
    ...{ operation: 'status', about, times },
    change: (record) => {
      const entries = record['ebrcBulkGenStatusLst'] as Fields[];
      const list = entries.map((entry, nth) => change(entry, nth, entries.length));
      return entries.length === 0 ? record : of({ ...record, ebrcBulkGenStatusLst: list });
    },
  });
  const listed = (change: (list: Fields[]) => Fields[]): Script => ({
    ...{ operation: 'fetch-details', about, times },
    change: (data) => change(data as unknown as Fields[]),
  });
  switch (lie) {
    case 'refused as a duplicate':
      return { ...push, answer: { status: 400, body: REFUSAL } };
    case 'taken, and refused as a duplicate':
      return { ...push, replace: { status: 400, body: REFUSAL } };
    case 'no request id':
      return { ...push, change: ({ requestId: _id, ...answer }) => answer };
    case 'the request id of before': {
      let before: unknown;
      return { ...push, times: 3, change: (answer) => ({ ...answer, requestId: (before ??= answer['requestId']) }) };
    }
    case 'own serial numbers':
      return status((entry, nth, all) => ({ ...entry, serialNo: String(all - nth) }));
    case 'errored at first':
      return status(
        (entry) => ({ ...entry, processingStatus: 'Errored', eBRCNumber: null, eBRCDt: null, errorDetails: ['ERR28'] }),
        (record) => ({
          ...record,
          processingStatus: 'Errored',
          recordProCount: 0,
          recordFailCount: record['recordResCount'],
        }),
      );
    case 'status in other amounts':
      return status((entry) => ({ ...entry, fobFCC: Number(entry['fobFCC']) + 0.004 }));
    case 'status in lower case':
      return status((entry) => ({ ...entry, eBRCNumber: String(entry['eBRCNumber']).toLowerCase() }));
    case 'newest certificate not listed':
      return listed((list) => list.slice(0, -1));
    case 'oldest certificate not listed':
      return listed((list) => list.slice(1));
    case 'nothing listed':
      return listed(() => []);
    case 'listed twice':
      return listed((list) => [...list, ...list]);
    case 'listed in other amounts':
      return listed((list) =>
        list.map((each) => ({ ...each, realisedValueFCC: Number(each['realisedValueFCC']) + 0.004 })),
      );
    case 'listed without bill and currency':
      return listed((list) => list.map((each) => ({ ...each, billNo: '', currencyCode: '' })));
  }
}
