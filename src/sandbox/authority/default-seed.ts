import type { Seed } from './seed';

const HDFC = { ifscCode: 'HDFC0000060', remittanceAdCode: '0510060' };
const ICICI = { ifscCode: 'ICIC0000104', remittanceAdCode: '6390104' };
const SBI = { ifscCode: 'SBIN0000813', remittanceAdCode: '0002813' };
const AXIS = { ifscCode: 'UTIB0000004', remittanceAdCode: '6360004' };

const usd = (remittanceFCCAmount: number) => ({ remittanceFCC: 'USD', remittanceFCCAmount });

/**
 * The data of a sandbox that was given no seed: three exporters, each with an account at the portal. docs/sandbox.md
 * lists their usernames and passwords. Nothing in it is a real exporter, bank account or key.
 */
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
        {
          ...HDFC,
          irmNumber: 'HDFCIRM26000101',
          irmIssueDate: '12052026',
          ...usd(250_000),
          remitterName: 'Northwind Textiles Inc',
        },
        {
          ...HDFC,
          irmNumber: 'HDFCIRM26000102',
          irmIssueDate: '19052026',
          ...usd(84_300.5),
          remitterName: 'Northwind Textiles Inc',
        },
        {
          ...HDFC,
          irmNumber: 'HDFCIRM26000103',
          irmIssueDate: '02062026',
          remittanceFCC: 'EUR',
          remittanceFCCAmount: 120_750,
          remitterName: 'Weber Handels GmbH',
          remitterCountry: 'GERMANY',
        },
        // The same number under another AD code is another remittance.
        {
          ...ICICI,
          irmNumber: 'HDFCIRM26000103',
          irmIssueDate: '04062026',
          remittanceFCC: 'GBP',
          remittanceFCCAmount: 41_200,
          remitterName: 'Ashdown Trading Ltd',
          remitterCountry: 'UNITED KINGDOM',
        },
      ],
    },
    {
      username: 'kaveri.softworks',
      password: 'Kaveri@Soft9',
      iec: 'AAKCK7719P',
      panNumber: 'AAKCK7719P',
      sharedCredentials: true,
      irms: [
        {
          ...SBI,
          irmNumber: 'SBINIRM26004410',
          irmIssueDate: '03062026',
          ...usd(310_000),
          purposeOfRemittance: 'P0802',
          remitterName: 'Lakeshore Analytics LLC',
        },
        {
          ...SBI,
          irmNumber: 'SBINIRM26004411',
          irmIssueDate: '17062026',
          ...usd(96_480.25),
          purposeOfRemittance: 'P0802',
          remitterName: 'Harbour Health Systems Inc',
        },
        {
          ...SBI,
          irmNumber: 'SBINIRM26004412',
          irmIssueDate: '01072026',
          remittanceFCC: 'AUD',
          remittanceFCCAmount: 55_000,
          purposeOfRemittance: 'P0807',
          remitterName: 'Coral Bay Pty Ltd',
          remitterCountry: 'AUSTRALIA',
        },
      ],
    },
    {
      username: 'zenith.engineering',
      password: 'Zenith!Eng77',
      iec: '0388123459',
      panNumber: 'AABCZ3459L',
      irms: [
        {
          ...AXIS,
          irmNumber: 'UTIBIRM26007701',
          irmIssueDate: '22042026',
          remittanceFCC: 'JPY',
          remittanceFCCAmount: 18_500_000,
          remitterName: 'Hoshino Seiki KK',
          remitterCountry: 'JAPAN',
        },
        {
          ...AXIS,
          irmNumber: 'UTIBIRM26007702',
          irmIssueDate: '11062026',
          ...usd(142_000),
          remitterName: 'Prairie Pump Works Inc',
        },
        {
          ...AXIS,
          irmNumber: 'UTIBIRM26007703',
          irmIssueDate: '25062026',
          ...usd(67_925.75),
          purposeOfRemittance: 'P1006',
          remitterName: 'Prairie Pump Works Inc',
        },
      ],
    },
  ],
} satisfies Seed;
