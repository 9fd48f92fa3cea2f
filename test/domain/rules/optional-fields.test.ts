import { BUILT_IN_TEMPLATE } from '../../../src/domain/rules/columns';
import { parsePushMessage } from '../../../src/domain/rules/push-message';
import { mapping } from '../../../dev/sample-mapping';

const LEARNED = { labels: BUILT_IN_TEMPLATE.labels, learnedAt: '2026-01-05T00:00:00Z' };

const read = (item: Record<string, unknown>, template = LEARNED) => {
  const message = {
    uploadType: '101',
    decalarationFlag: 'Y',
    recordResCount: 1,
    ebrcBulkGenDtos: [{ ...mapping(), ...item }],
  };
  const { message: parsed, findings } = parsePushMessage(message, [], { template });
  return {
    extra: parsed?.rows[0]?.extra,
    brief: findings.map(({ severity, field, code }) => `${severity} ${field} ${code}`),
    messages: findings.map(({ message: text }) => text).join('\n'),
  };
};

describe('optional fields of a push message', () => {
  test('travel under the labels of the service’s template, as filled columns do', () => {
    const item = {
      isVostro: 'Y',
      vostroType: 'SVRA',
      isThirdPartyExport: 'N',
      commissionValDeduct: 100.49999999999999,
      sacCode1: '998311',
      serviceTypeModesValue: '1',
      freightValInfo: null,
      otherDeductionDeduct: '',
    };
    const labels = LEARNED.labels.map((label) => label.replace('Commission Val Deduct', 'Commission Value Deduct'));
    expect(read(item, { ...LEARNED, labels })).toEqual({
      extra: {
        'Vostro Type': 'SVRA',
        'Commission Value Deduct': 100.5,
        'SAC Code 1': '998311',
        'Service Type Modes Value': '1',
      },
      brief: [],
      messages: '',
    });
  });

  test.each<[Record<string, unknown>, string]>([
    [{ commissionValDeduct: '100' }, 'error commissionValDeduct invalid_number'],
    [{ commissionValDeduct: -1 }, 'warning commissionValDeduct unusual_form'],
    [{ isThirdPartyExport: 'yes' }, 'error isThirdPartyExport invalid_yes_no'],
    [{ sacCode1: 998311 }, 'error sacCode1 invalid_text'],
    [{ isVostro: 'Y' }, 'warning isVostro vostro_type_missing'],
    [{ vostroType: 'SVRA' }, 'warning isVostro vostro_type_not_empty'],
    [{ isVostro: 'Y', vostroType: 'Rupee' }, 'warning vostroType unusual_form'],
    [{ sacCode2: '12' }, 'warning sacCode2 unusual_form'],
    [{ serviceTypeModesValue: '7' }, 'warning serviceTypeModesValue unusual_form'],
    [{ freightValDeduct: 8000, insuranceValDeduct: 0.01 }, 'warning mappedIRMAmountFCC deductions_over_mapped'],
    [{ freightValInfo: 0.125 }, 'warning freightValInfo amount_decimals'],
  ])('%j: %s', (item, expected) => {
    expect(read(item).brief).toEqual([expected]);
  });

  test('that no channel can carry, because the template has no such column, are not left out', () => {
    const { extra, brief, messages } = read(
      { sacCode1: '998311' },
      { ...LEARNED, labels: LEARNED.labels.slice(0, 20) },
    );
    expect([extra, brief]).toEqual([undefined, ['error sacCode1 no_channel']]);
    expect(messages).toContain('push messages have no such field');
    expect(messages).not.toMatch(/remove/i);
  });

  test('depend on the template while it is unknown', () => {
    expect(read({ sacCode1: '998311' }, BUILT_IN_TEMPLATE as typeof LEARNED).brief).toEqual([
      'warning null template_unknown',
    ]);
  });

  test('spelt as their column are named', () => {
    expect(read({ 'SAC Code 1': '998311' }).messages).toContain('Write it as sacCode1');
  });
});
