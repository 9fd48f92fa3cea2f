import type { Readable } from 'node:stream';
import type { FilingApi } from '../../../src/api/client';
import type { Operation } from '../../../src/domain/service/operations';
import { CUSTOMER_ID, mayWrite, PASSWORD, pushOf } from './service';

async function drain(body: Readable): Promise<number> {
  let bytes = 0;
  for await (const piece of body as AsyncIterable<Buffer>) bytes += piece.length;
  return bytes;
}

/** Everything that a list yields. */
export async function collect<T>(list: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of list) items.push(item);
  return items;
}

/** Makes one call of an operation of the filing service, with input that is fit to be sent. */
export function invoke(api: FilingApi, operation: Operation): Promise<unknown> {
  switch (operation) {
    case 'createCustomer':
      return api.createCustomer({ name: 'A', email: 'a@example.com', dgftUsername: 'u', dgftPassword: PASSWORD });
    case 'getCustomer':
      return api.getCustomer(CUSTOMER_ID);
    case 'updateCustomer':
      return api.updateCustomer(CUSTOMER_ID, { name: 'B' });
    case 'listCustomers':
      return collect(api.listCustomers());
    case 'checkCredentials':
      return api.checkCredentials(CUSTOMER_ID, { dgftUsername: 'u', dgftPassword: PASSWORD });
    case 'pushIrm':
      return api.pushIrm(pushOf(), mayWrite);
    case 'bulkUpload':
      return api.bulkUpload(
        {
          platformCustomerId: CUSTOMER_ID,
          uploadType: '101',
          decalarationFlag: 'N',
          file: Buffer.from('PK\x03\x04'),
          fileName: 'rows.xlsx',
        },
        mayWrite,
      );
    case 'status':
      return api.status({ platformCustomerId: CUSTOMER_ID, requestId: 'REQ1' });
    case 'fetchDetails':
      return api.fetchDetails({
        platformCustomerId: CUSTOMER_ID,
        iecCode: 'ABCDE1234F',
        eBRCIssueFromDt: '01012026',
        eBRCIssueToDt: '01022026',
      });
    case 'downloadPdf':
      return api.downloadPdf({ eBRCNumber: 'EBRC1', platformCustomerId: CUSTOMER_ID }, drain);
    case 'listIrms':
      return collect(api.listIrms(CUSTOMER_ID));
    case 'irmTemplate':
      return api.irmTemplate(CUSTOMER_ID, drain);
    case 'refreshIrms':
      return api.refreshIrms(CUSTOMER_ID);
    default:
      throw new Error(`${operation} is not an operation of the filing service`);
  }
}
