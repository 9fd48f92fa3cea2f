import type { Seed, SeedIrm } from './seed';

const HDFC = { ifscCode: 'HDFC0000060', remittanceAdCode: '0510060' };
const ICICI = { ifscCode: 'ICIC0000104', remittanceAdCode: '6390104' };
const SBI = { ifscCode: 'SBIN0000813', remittanceAdCode: '0002813' };
const AXIS = { ifscCode: 'UTIB0000004', remittanceAdCode: '6360004' };

const irm = (
  bank: Pick<SeedIrm, 'ifscCode' | 'remittanceAdCode'>,
  irmNumber: string,
  irmIssueDate: string,
  [remittanceFCC, remittanceFCCAmount]: readonly [currency: string, amount: number],
  remitterName: string,
  others: Partial<SeedIrm> = {},
) => ({ ...bank, irmNumber, irmIssueDate, remittanceFCC, remittanceFCCAmount, remitterName, ...others });

const SOFTWARE = { purposeOfRemittance: 'P0802' };

/** Three exporters, each with a portal account; docs/sandbox.md lists their passwords. Nothing in it is real. */
export const DEFAULT_SEED = {
  keys: [{ key: 'dev_sandbox_key' }, { key: 'prod_sandbox_key' }],
  extractionKeys: ['extract_sandbox_key'],
  accounts: [
    {
      username: 'meridian.exports',
      password: 'Meridian#2026',
      iec: 'AAGCM4521K',
      panNumber: 'AAGCM4521K',
      irms: [
        irm(HDFC, 'HDFCIRM26000101', '12052026', ['USD', 250_000], 'Northwind Textiles Inc'),
        irm(HDFC, 'HDFCIRM26000102', '19052026', ['USD', 84_300.5], 'Northwind Textiles Inc'),
        irm(HDFC, 'HDFCIRM26000103', '02062026', ['EUR', 120_750], 'Weber Handels GmbH', {
          remitterCountry: 'GERMANY',
        }),
        // The same number under another AD code is another remittance.
        irm(ICICI, 'HDFCIRM26000103', '04062026', ['GBP', 41_200], 'Ashdown Trading Ltd', {
          remitterCountry: 'UNITED KINGDOM',
        }),
      ],
    },
    {
      username: 'kaveri.softworks',
      password: 'Kaveri@Soft9',
      iec: 'AAKCK7719P',
      panNumber: 'AAKCK7719P',
      sharedCredentials: true,
      irms: [
        irm(SBI, 'SBINIRM26004410', '03062026', ['USD', 310_000], 'Lakeshore Analytics LLC', SOFTWARE),
        irm(SBI, 'SBINIRM26004411', '17062026', ['USD', 96_480.25], 'Harbour Health Systems Inc', SOFTWARE),
        irm(SBI, 'SBINIRM26004412', '01072026', ['AUD', 55_000], 'Coral Bay Pty Ltd', {
          purposeOfRemittance: 'P0807',
          remitterCountry: 'AUSTRALIA',
        }),
      ],
    },
    {
      username: 'zenith.engineering',
      password: 'Zenith!Eng77',
      iec: '0388123459',
      panNumber: 'AABCZ3459L',
      irms: [
        irm(AXIS, 'UTIBIRM26007701', '22042026', ['JPY', 18_500_000], 'Hoshino Seiki KK', { remitterCountry: 'JAPAN' }),
        irm(AXIS, 'UTIBIRM26007702', '11062026', ['USD', 142_000], 'Prairie Pump Works Inc'),
        irm(AXIS, 'UTIBIRM26007703', '25062026', ['USD', 67_925.75], 'Prairie Pump Works Inc', {
          purposeOfRemittance: 'P1006',
        }),
      ],
    },
  ],
} satisfies Seed;
