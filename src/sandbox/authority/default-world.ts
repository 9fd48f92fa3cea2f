import type { Seed } from './seed';

/**
 * The world of a sandbox that was given no other: three exporters with an account at the portal each. Their usernames
 * and passwords are listed in docs/sandbox.md. Nothing in it is a real exporter, bank account or key.
 */
export const DEFAULT_WORLD = {
  keys: [{ key: 'dev_sandbox_key' }, { key: 'prod_sandbox_key' }],
  extractionKeys: ['extract_sandbox_key'],
  accounts: [
    {
      username: 'meridian.exports',
      password: 'Meridian#2026',
      iec: 'AAGCM4521K',
      panNumber: 'AAGCM4521K',
      irms: [
        irm('HDFCIRM26000101', '12052026', 'HDFC0000060', '0510060', 'USD', 250_000, 'P0103', 'Northwind Textiles Inc'),
        irm(
          'HDFCIRM26000102',
          '19052026',
          'HDFC0000060',
          '0510060',
          'USD',
          84_300.5,
          'P0103',
          'Northwind Textiles Inc',
        ),
        irm(
          'HDFCIRM26000103',
          '02062026',
          'HDFC0000060',
          '0510060',
          'EUR',
          120_750,
          'P0103',
          'Weber Handels GmbH',
          'GERMANY',
        ),
        // The same number under another AD code is another remittance.
        irm(
          'HDFCIRM26000103',
          '04062026',
          'ICIC0000104',
          '6390104',
          'GBP',
          41_200,
          'P0103',
          'Ashdown Trading Ltd',
          'UNITED KINGDOM',
        ),
      ],
    },
    {
      username: 'kaveri.softworks',
      password: 'Kaveri@Soft9',
      iec: 'AAKCK7719P',
      panNumber: 'AAKCK7719P',
      sharedCredentials: true,
      irms: [
        irm(
          'SBINIRM26004410',
          '03062026',
          'SBIN0000813',
          '0002813',
          'USD',
          310_000,
          'P0802',
          'Lakeshore Analytics LLC',
        ),
        irm(
          'SBINIRM26004411',
          '17062026',
          'SBIN0000813',
          '0002813',
          'USD',
          96_480.25,
          'P0802',
          'Harbour Health Systems Inc',
        ),
        irm(
          'SBINIRM26004412',
          '01072026',
          'SBIN0000813',
          '0002813',
          'AUD',
          55_000,
          'P0807',
          'Coral Bay Pty Ltd',
          'AUSTRALIA',
        ),
      ],
    },
    {
      username: 'zenith.engineering',
      password: 'Zenith!Eng77',
      iec: '0388123459',
      panNumber: 'AABCZ3459L',
      irms: [
        irm(
          'UTIBIRM26007701',
          '22042026',
          'UTIB0000004',
          '6360004',
          'JPY',
          18_500_000,
          'P0103',
          'Hoshino Seiki KK',
          'JAPAN',
        ),
        irm('UTIBIRM26007702', '11062026', 'UTIB0000004', '6360004', 'USD', 142_000, 'P0103', 'Prairie Pump Works Inc'),
        irm(
          'UTIBIRM26007703',
          '25062026',
          'UTIB0000004',
          '6360004',
          'USD',
          67_925.75,
          'P1006',
          'Prairie Pump Works Inc',
        ),
      ],
    },
  ],
} satisfies Seed;

function irm(
  irmNumber: string,
  irmIssueDate: string,
  ifscCode: string,
  remittanceAdCode: string,
  remittanceFCC: string,
  remittanceFCCAmount: number,
  purposeOfRemittance: string,
  remitterName: string,
  remitterCountry = 'UNITED STATES',
) {
  return {
    irmNumber,
    irmIssueDate,
    ifscCode,
    remittanceAdCode,
    remittanceFCC,
    remittanceFCCAmount,
    purposeOfRemittance,
    remitterName,
    remitterCountry,
  };
}
