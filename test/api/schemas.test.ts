import fc from 'fast-check';
import { readEnvelope } from '../../src/api/http/answers';
import { createRedactor } from '../../src/api/errors/redact';
import { createCustomerBody, customer, irm, updateCustomerBody } from '../../src/api/schemas/exporters';
import {
  bulkUploadAnswer,
  certificateDetail,
  fetchDetailsBody,
  pushAnswer,
  pushMessage,
  requestStatus,
} from '../../src/api/schemas/filings';
import { mapping, pushOf } from './support/service';

const anyJson = fc.jsonValue() as fc.Arbitrary<unknown>;
const record = (arbitrary: Record<string, fc.Arbitrary<unknown>>) => fc.record(arbitrary, { requiredKeys: [] });

/** Fields that are texts in every record that has them, in whatever form they come. */
const TEXTS = ['name', 'email', 'iec', 'mode', 'ackStatus', 'processingStatus', 'irmStatus', 'eBRCStatus'];
const NUMBERS = ['recordResCount', 'recordProCount', 'remittanceFCCAmount', 'irmAvailableAmt', 'realisedValueFCC'];

describe('what the service sends', () => {
  const readers = {
    customer: (value: object) => customer.parse({ ...value, id: 'C1' }),
    irm: (value: object) => irm.parse({ ...value, irmNumber: 'I1' }),
    push: (value: object) => pushAnswer.parse({ ...value, requestId: 'R1' }),
    bulk: (value: object) => bulkUploadAnswer.parse({ ...value, requestId: 'R1' }),
    status: (value: object) => requestStatus.parse({ ...value, ebrcBulkGenStatusLst: null }),
    certificate: (value: object) => certificateDetail.parse(value),
  };

  test.each(Object.entries(readers))(
    '%s is read whatever its fields hold, and every unknown field is kept',
    (_name, read) => {
      const known = record(Object.fromEntries([...TEXTS, ...NUMBERS].map((field) => [field, anyJson])));
      fc.assert(
        fc.property(known, fc.dictionary(fc.stringMatching(/^x_[a-z]{1,8}$/u), anyJson), (fields, unknown) => {
          const parsed = read({ ...fields, ...unknown }) as Record<string, unknown>;
          for (const [field, value] of Object.entries(unknown)) expect(parsed[field]).toEqual(value);
          // Reading what was read changes nothing.
          expect(read(parsed)).toEqual(parsed);
        }),
      );
    },
  );

  test('an amount is read without the error of binary sums, and a large one as it is', () => {
    const available = (amount: unknown) => irm.parse({ irmNumber: '5', irmAvailableAmt: amount }).irmAvailableAmt;
    expect(available(10_019.999999999)).toBe(10_020);
    expect(available(0.1 + 0.2)).toBe(0.3);
    expect(available('100.50000000000001')).toBe(100.5);
    expect(available(100.1255)).toBe(100.1255);
    expect(available(1_500_000_000.1000001)).toBe(1_500_000_000.1);
    expect(available(9_999_999_999_999.98)).toBe(9_999_999_999_999.98);
    expect(available(99_999_999_999_999.98)).toBe(99_999_999_999_999.98);
    expect(certificateDetail.parse({ realisedValueFCC: 100.49999999999999 }).realisedValueFCC).toBe(100.5);
  });

  test('a number may come as a text and a text as a number; null and absent are the same', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e14, max: 1e14 }), (amount) => {
        const plain = amount.toFixed(2);
        expect(irm.parse({ irmNumber: 5, irmAvailableAmt: plain }).irmAvailableAmt).toBe(Number(plain) + 0);
        expect(irm.parse({ irmNumber: '5', remitterName: amount }).remitterName).toBe(String(amount));
      }),
    );
    expect(irm.parse({ irmNumber: 5 })).toEqual(
      irm.parse({ irmNumber: '5', irmStatus: null, irmAvailableAmt: null, remitterName: null }),
    );
    expect(irm.parse({ irmNumber: '5', irmAvailableAmt: '1,00,000.50' }).irmAvailableAmt).toBe(100_000.5);
    expect(irm.parse({ irmNumber: '5', irmAvailableAmt: '100,000' }).irmAvailableAmt).toBe(100_000);
    for (const unread of ['1,00', '10,0,0', 'USD 5', '1.000,00', {}]) {
      expect(irm.parse({ irmNumber: '5', irmAvailableAmt: unread }).irmAvailableAmt).toBeNull();
    }
  });

  test.each(['', ' ', 'NA', 'n/a', '-', '--', 'null', null, undefined])('%p is absent', (nothing) => {
    const [entry] = requestStatus.parse({
      ebrcBulkGenStatusLst: [{ serialNo: 1, irmNumber: nothing, eBRCNumber: nothing, eBRCDt: nothing }],
    }).ebrcBulkGenStatusLst;
    expect(entry).toMatchObject({ serialNo: '1', irmNumber: null, eBRCNumber: null, eBRCDt: null });
    expect(pushAnswer.safeParse({ requestId: nothing, ackStatus: 'Validated' }).success).toBe(false);
    expect(pushAnswer.parse({ requestId: 'R', errorDetails: nothing }).errorDetails).toEqual([]);
  });

  test('the country code of Namibia is a value', () => {
    expect(irm.parse({ irmNumber: '5', remitterCountry: 'NA' }).remitterCountry).toBe('NA');
  });
});

test('an envelope without data holds the fields itself', () => {
  expect(readEnvelope('{"success":true,"requestId":"R1","statusCode":200}')).toEqual({ requestId: 'R1' });
});

describe('what goes to the service', () => {
  test.each([
    ['a count that is wrong', { ...pushOf(), recordResCount: 2 }],
    ['no mapping at all', { ...pushOf(), recordResCount: 0, ebrcBulkGenDtos: [] }],
    ['an upload type as a number at the top', { ...pushOf(), uploadType: 101 }],
    ['an upload type that is not one', pushOf(mapping({ uploadType: 1 }))],
    ['GST fields with N', pushOf(mapping({ gstinInvoiceNumber: 'G1', gstinInvoiceDate: '01012026' }))],
    ['no GST fields with Y', pushOf(mapping({ isGstAvail: 'Y' }))],
    ['an ISO date', pushOf(mapping({ irmDt: '2026-01-05' }))],
    ['an amount as text', pushOf(mapping({ mappedIRMAmountFCC: '1' as unknown as number }))],
    ['a field that the specification does not name', pushOf({ ...mapping(), remarks: 'x' } as never)],
  ])('%s is refused', (_what, message) => {
    expect(pushMessage.safeParse(message).success).toBe(false);
  });

  test('an IEC is trimmed and upper-cased, and refused when it is not one', () => {
    const body = { name: 'A', email: 'a@example.com', type: 'customer' };
    expect(createCustomerBody.parse({ ...body, iec: ' abcde1234f ' }).iec).toBe('ABCDE1234F');
    for (const iec of ['ABC', 'ABCDE1234FX', 'ABCDE-234F']) {
      expect(createCustomerBody.safeParse({ ...body, iec }).success).toBe(false);
    }
    expect(createCustomerBody.safeParse({ ...body, isActive: true }).success).toBe(false);
  });

  test('of a client only its name, company and address are changed', () => {
    expect(updateCustomerBody.safeParse({ name: 'A', companyName: 'B', address: 'C' }).success).toBe(true);
    for (const other of [{ iec: 'ABCDE1234F' }, { email: 'a@example.com' }, { name: ' ' }])
      expect([other, updateCustomerBody.safeParse(other).success]).toEqual([other, false]);
  });

  test('the document filter of fetch-details takes 25 characters', () => {
    const query = { platformCustomerId: 'C', iecCode: 'I', eBRCIssueFromDt: '01012026', eBRCIssueToDt: '01022026' };
    expect(fetchDetailsBody.safeParse({ ...query, sbCumInvoiceNumber: 'x'.repeat(25) }).success).toBe(true);
    expect(fetchDetailsBody.safeParse({ ...query, sbCumInvoiceNumber: 'x'.repeat(26) }).success).toBe(false);
  });
});

test('a redactor leaves no form of a secret in any text', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 4, maxLength: 30 }), fc.string(), fc.string(), (secret, before, after) => {
      fc.pre(!'[redacted]'.includes(secret));
      const redact = createRedactor([secret]);
      expect(redact(JSON.stringify({ body: JSON.stringify({ secret }) }))).not.toContain(
        JSON.stringify(secret).slice(1, -1),
      );
      expect(redact(encodeURIComponent(secret))).toBe('[redacted]');
      expect(redact(`${before} ${secret} ${after}`)).toContain('[redacted]');
    }),
  );
});
