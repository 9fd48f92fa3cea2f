import { readQuestions } from '../../../src/ledger/questions/questions';
import { mapping } from '../../../dev/sample-mapping';
import { detailOf } from '../../reports/ledger-of-a-month';
import { settleRows } from '../ledger-steps';
import { randomUUID } from 'node:crypto';
import { reserveBalances } from '../../../src/ledger/rows/balance-reservation';
import { saveCertificates, unclaimedCertificates } from '../../../src/ledger/certificates/certificates';
import {
  getExporter,
  lockExporter,
  readDetailsCaller,
  learnIec,
  saveExporter,
  type CustomerRecord,
} from '../../../src/ledger/exporters/exporters';
import { attachToIec, lockForPartyChange, lockPartyChanges } from '../../../src/ledger/exporters/parties';
import { readRows } from '../../../src/ledger/rows/filing-rows';
import { needFiling } from '../../../src/ledger/filings/filings';
import { saveIrms } from '../../../src/ledger/exporters/irms';
import { readSnapshotSource, saveSnapshot } from '../../../src/ledger/certificates/snapshots';
import { withTransaction } from '../../../src/ledger/pool';
import { useTestDatabase } from '../../support/postgres';
import {
  customerRecord,
  irmRecord,
  minutesLater,
  move,
  NOW,
  open,
  record,
  refusal,
  rowsOf,
  untilLockWaits,
} from '../filing-support';

const iecOf = async (id: string) => (await readDetailsCaller(ledger.pool, id)).iecCode;

const ledger = useTestDatabase();

let serial = 0;
/** An IEC that no other test has. */
const newIec = () => `AAGCM${String((serial += 1)).padStart(4, '0')}K`;

async function client(change: Partial<CustomerRecord> = {}, minute = 0): Promise<string> {
  const id = change.id ?? randomUUID();
  const record = { ...customerRecord(id), iec: null, ...change };
  return (await saveExporter(ledger.pool, record, 'test', minutesLater(minute))).exporterId;
}

const party = async (exporterId: string) => (await getExporter(ledger.pool, exporterId))?.partyId;
const newRows = (count = 1) =>
  rowsOf(...Array.from({ length: count }, () => ({ sbCumInvoiceNumber: String(8_000_000 + (serial += 1)) })));
const learn = (exporterId: string, iec: string) =>
  learnIec(ledger.pool, { exporterId, iec, source: 'status', at: NOW });
function certify(filingId: string, exporterId: string, eBRCNumber: string) {
  const verdicts = [{ position: 0, outcome: 'certified' as const, eBRCNumber, eBRCDate: '10022026' }];
  return withTransaction(ledger.pool, (db) => settleRows(db, { filingId, exporterId, verdicts, at: NOW }));
}
/** The texts of a filing's open questions, by kind. */
const askedOf = async (filingId: string) =>
  (await readQuestions(ledger.pool, [filingId])).get(filingId)?.map(({ kind, text }) => [kind, text]) ?? [];
const warnings = async (filingId: string) => (await needFiling(ledger.pool, filingId)).warnings;

describe('a party', () => {
  it('is an IEC in a mode: a second client of it files nothing that the first has filed', async () => {
    const iec = newIec();
    const [first, second] = [await client({ iec }), await client({ iec: ` ${iec.toLowerCase()} ` })];
    expect(await party(second)).toBe(await party(first));
    const rows = newRows();
    const holder = await open(ledger, `IEC-${iec}`, rows, { exporterId: first });
    expect(await record(ledger, `IEC-${iec}-2`, rows, { exporterId: second })).toMatchObject(
      refusal({ filingId: holder }),
    );
  });

  it('is one client alone while no IEC is known', async () => {
    const [first, second] = [await client(), await client()];
    expect(await party(second)).not.toBe(await party(first));
    expect(await party(await client({ iec: 'NA' }))).not.toBe(await party(first));
  });

  it('stays that of a client which was deleted at the service and created again', async () => {
    const email = `${randomUUID()}@example.test`;
    const before = await client({ email });
    const rows = newRows();
    const holder = await open(ledger, `ANEW-${email}`, rows, { exporterId: before });
    const after = await client({ email: email.toUpperCase(), iec: newIec() }, 1);
    expect(await party(after)).toBe(await party(before));
    expect(await record(ledger, `ANEW-${email}-2`, rows, { exporterId: after })).toMatchObject(
      refusal({ filingId: holder }),
    );
    expect(await party(await client({ email }, 2))).toBe(await party(before));
    expect(await iecOf(before)).toBe(await iecOf(after));
  });

  it('is found by an id in capitals, which stays as the service spelled it', async () => {
    const id = randomUUID();
    await client({ id });
    expect(await client({ id: id.toUpperCase(), name: 'Renamed' }, 1)).toBe(id);
    expect(await getExporter(ledger.pool, ` ${id.toUpperCase()}`)).toMatchObject({ exporterId: id, name: 'Renamed' });
  });
});

describe('an IEC', () => {
  it('that is known is never forgotten', async () => {
    const iec = newIec();
    const id = await client({ iec });
    await client({ id, iec: null }, 1);
    expect(await getExporter(ledger.pool, id)).toMatchObject({ iec });
    expect(await iecOf(id)).toBe(iec);
  });

  it('is learnt from IRMs that agree, and from a status record; both stand above what was entered', async () => {
    const [fromIrms, other] = [newIec(), newIec()];
    const id = await client();
    await saveIrms(ledger.pool, id, [irmRecord(10_000, null), { ...irmRecord(1, 'NA'), irmNumber: 'B' }], NOW);
    expect(await iecOf(id)).toBeNull();
    await saveIrms(ledger.pool, id, [irmRecord(10_000, fromIrms)], NOW);
    expect(await iecOf(id)).toBe(fromIrms);
    await learn(id, other);
    expect(await iecOf(id)).toBe(fromIrms);
    await client({ id, iec: other }, 1);
    expect(await getExporter(ledger.pool, id)).toMatchObject({ iec: fromIrms, iecSource: 'irms', statedIec: other });
    const known = await client({ iec: fromIrms });
    expect(await party(id)).toBe(await party(known));

    const torn = await client();
    const two = [irmRecord(1, newIec()), { ...irmRecord(1, newIec()), irmNumber: 'B' }];
    await saveIrms(ledger.pool, torn, two, NOW);
    expect(await iecOf(torn)).toBeNull();
    await learn(torn, other);
    expect(await party(torn)).toBe(await party(await client({ iec: other })));
  });

  it('that was entered wrongly gives way to the portal’s, with the filings and for good', async () => {
    const [typed, portal] = [newIec(), newIec()];
    const [mistyped, right] = [await client({ iec: typed }), await client({ iec: portal })];
    const rows = newRows();
    const holder = await open(ledger, `TYPED-${typed}`, rows, { exporterId: mistyped });
    const listed = { submission: 1, exporterId: mistyped, certificates: ['TYPED'], at: NOW };
    await saveSnapshot(ledger.pool, { filingId: holder, ...listed });
    await learn(mistyped, portal);
    // Which certificates of the typed IEC existed says nothing of those of the portal's.
    expect(await readSnapshotSource(ledger.pool, mistyped, NOW)).toMatchObject({ recent: null });
    expect(await party(mistyped)).toBe(await party(right));
    expect(await record(ledger, `TYPED-${typed}-2`, rows, { exporterId: right })).toMatchObject(
      refusal({ filingId: holder }),
    );
    // The IRMs, which are the bank's, stand above a status record; the client object says the same as ever.
    const fromIrms = newIec();
    await saveIrms(ledger.pool, mistyped, [irmRecord(10_000, fromIrms)], NOW);
    await learn(mistyped, portal);
    await client({ id: mistyped, iec: typed }, 2);
    expect(await getExporter(ledger.pool, mistyped)).toMatchObject({ iec: fromIrms, statedIec: typed });
    expect(await iecOf(mistyped)).toBe(fromIrms);
    expect(await party(mistyped)).not.toBe(await party(right));
  });

  it('that is learnt attaches the client; what both hold takes the next ordinal and is kept with both filings', async () => {
    const iec = newIec();
    const [known, nameless] = [await client({ iec }), await client()];
    const rows = newRows(2);
    const first = await open(ledger, `OWN-${iec}`, rows, { exporterId: known });
    const second = await open(ledger, `LATER-${iec}`, rows.slice(0, 1), { exporterId: nameless });
    await learn(nameless, iec);
    const held = `SELECT filing_id AS id, h.ordinal, collided_with AS beside
      FROM filing_rows JOIN held_mappings h USING (filing_id, position)
     WHERE party_id = $1 AND h.fingerprint = filing_rows.fingerprint ORDER BY h.ordinal, position`;
    const own = { id: first, ordinal: 0, beside: null };
    const collided = { id: second, ordinal: 1, beside: first };
    expect(await ledger.select(held, await party(known))).toEqual([own, own, collided]);
    expect(await warnings(second)).toMatchObject([{ code: 'mapping_live_twice', row: 1, filingId: first }]);
    expect(await warnings(first)).toMatchObject([{ code: 'mapping_live_twice', filingId: second }]);
    await learn(nameless, iec);
    expect(await warnings(second)).toHaveLength(1);
    // Nothing of it is sent without somebody's permission: it was recorded beside a mapping that nobody had named.
    const reserve = { filingId: second, exporterId: nameless, at: NOW };
    const [found] = await reserveBalances(ledger.pool, reserve, (_client, findings) => Promise.resolve(findings));
    expect(found).toMatchObject({
      severity: 'error',
      code: 'mapping_live',
      filingId: first,
      allowDuplicate: '1=REASON',
    });
    expect(await record(ledger, `THIRD-${iec}`, rows, { exporterId: known })).toMatchObject(
      refusal({ row: 1, filingId: second }, { row: 2 }),
    );
  });

  it('that is learnt takes the permissions along that were given beside the client’s filings', async () => {
    const iec = newIec();
    const [known, nameless] = [await client({ iec }), await client()];
    const rows = newRows();
    const second = { exporterId: nameless, permitted: [{ row: 1, reason: 'a second tranche' }] };
    const holder = await open(ledger, `NAMED-${iec}`, rows, { exporterId: nameless });
    expect(await record(ledger, `SECOND-${iec}`, rows, second)).toMatchObject(refusal({ filingId: holder }));
    await learn(nameless, iec);
    expect(await party(nameless)).toBe(await party(known));
    expect(await record(ledger, `SECOND-${iec}`, rows, second)).toMatchObject({ outcome: 'opened' });
  });

  it('that differs from the known one is a question of the open filings, whichever is used', async () => {
    const [entered, shown, other, fromIrms] = [newIec(), newIec(), newIec(), newIec()];
    const id = await client({ iec: entered });
    const filingId = await open(ledger, `DIFFERS-${entered}`, newRows(), { exporterId: id });
    const asked = () => askedOf(filingId);
    const question = (...words: string[]) => ['iec_differs', expect.stringMatching(words.join('.*')) as string];
    await learn(id, shown);
    expect(await asked()).toEqual([question(`entered with ${entered}`, `carry ${shown}`, `${shown} is used`)]);
    // One status record does not outweigh another: the exporter stays with its party.
    const before = await party(id);
    await Promise.all([learn(id, other), learn(id, other)]);
    expect([await iecOf(id), await party(id)]).toEqual([shown, before]);
    expect(await asked()).toContainEqual(question(`carry ${shown}`, `carry ${other}`, `${shown} is used`));
    await saveIrms(ledger.pool, id, [irmRecord(10_000, fromIrms)], NOW);
    await learn(id, shown);
    expect(await iecOf(id)).toBe(fromIrms);
    expect(await asked()).toContainEqual(question(`records carry ${shown}`, `IRMs carry ${fromIrms}`, fromIrms));
    expect(await asked()).toHaveLength(4);
    // The same once more is no new question.
    await learn(id, shown);
    expect(await asked()).toHaveLength(4);
  });

  it('of which two are shown at the same time is the first one’s, and a question', async () => {
    const [one, two] = [newIec(), newIec()];
    const id = await client();
    const filingId = await open(ledger, `BOTH-${one}`, newRows(), { exporterId: id });
    await Promise.all([learn(id, one), learn(id, two)]);
    expect([one, two]).toContain(await iecOf(id));
    expect(await askedOf(filingId)).toEqual([['iec_differs', expect.any(String)]]);
  });

  it('that two readers see change at once is asked about once, and never against itself', async () => {
    const [before, after] = [newIec(), newIec()];
    const id = await client({ iec: before });
    const filingId = await open(ledger, `TWICE-${before}`, newRows(), { exporterId: id });
    let readers: Promise<unknown> = Promise.resolve();
    await withTransaction(ledger.pool, async (db) => {
      await lockPartyChanges(db, 'test');
      readers = Promise.all([client({ id, iec: after }, 1), client({ id, iec: after }, 1)]);
      await untilLockWaits(ledger, 2);
    });
    await readers;
    expect(await askedOf(filingId)).toEqual([['iec_differs', expect.stringContaining(before)]]);
  });

  it.each([
    ['a status record', (id: string, iec: string) => learn(id, iec)],
    ['the client object', (id: string, iec: string) => client({ id, iec }, 5)],
  ])(
    'that was read from %s before another became known is never that of another party than its own',
    async (_, read) => {
      const [stale, known] = [newIec(), newIec()];
      const id = await client({ iec: stale });
      let reading: Promise<unknown> = Promise.resolve();
      await withTransaction(ledger.pool, async (db) => {
        await lockForPartyChange(db, { mode: 'test', exporterId: id, iec: known, email: null });
        await db.query('SELECT FROM exporters WHERE exporter_id = $1 FOR UPDATE', [id]);
        reading = read(id, stale);
        await untilLockWaits(ledger);
        await db.query('UPDATE exporters SET iec = $2 WHERE exporter_id = $1', [id, known]);
        await attachToIec(db, { mode: 'test', exporterId: id, iec: known, at: NOW });
      });
      await reading;
      const both =
        'SELECT e.iec, p.iec AS party FROM exporters e JOIN parties p USING (party_id) WHERE exporter_id = $1';
      const [found] = await ledger.select(both, id);
      expect(found?.['iec']).toBe(found?.['party']);
    },
  );

  it('in another form than ten letters and digits counts as none, in whatever place it stands', async () => {
    const iec = newIec();
    const id = await client({ iec: '388012345' });
    await saveIrms(ledger.pool, id, [irmRecord(10_000, 'IEC: 388012345')], NOW);
    await learn(id, `${iec}0`);
    expect(await iecOf(id)).toBeNull();
    expect(await party(id)).not.toBe(await party(await client({ iec: '388012345' })));
    // Blanks and characters that nobody sees are no other form.
    expect(await party(await client({ iec: `\u200b${iec.slice(0, 5)} ${iec.slice(5)}` }))).toBe(
      await party(await client({ iec })),
    );
  });

  it('that another client takes up only later moves what a wrong one had, and no more', async () => {
    const [wrong, right] = [newIec(), newIec()];
    const [moved, stays] = [await client({ iec: wrong }), await client({ iec: wrong })];
    const rows = newRows(2);
    const filingId = await open(ledger, `WRONG-${wrong}`, rows.slice(0, 1), { exporterId: moved });
    const other = await open(ledger, `STAYS-${wrong}`, rows.slice(1), { exporterId: stays });
    await client({ id: moved, iec: right }, 1);
    const rowParty = async (id: string) =>
      (await ledger.pool.query<{ id: number }>('SELECT party_id AS id FROM filing_rows WHERE filing_id = $1', [id]))
        .rows[0]?.id;
    expect(await rowParty(filingId)).toBe(await party(moved));
    expect(await rowParty(other)).toBe(await party(stays));
    expect(await party(moved)).not.toBe(await party(stays));
  });

  it('that was wrong leaves no finding open with a party that nobody reconciles any more', async () => {
    const [wrong, right] = [newIec(), newIec()];
    const id = await client({ iec: wrong });
    const find = (key: string, eBRCNumber: string | null) =>
      ledger.pool.query(
        `INSERT INTO questions (mode, party_id, key, kind, exporter_id, ebrc_number, first_seen_at, last_seen_at)
         SELECT mode, party_id, $2, split_part($2, '|', 1), exporter_id, $3, $4, $4 FROM exporters WHERE exporter_id = $1`,
        [id, key, eBRCNumber, NOW],
      );
    await find(`utilisation_differs|${wrong}`, null);
    await find(`theirs_not_ours|${wrong}`, wrong);
    await learn(id, right);
    const open = 'SELECT kind, party_id AS party FROM questions WHERE exporter_id = $1 AND closed_at IS NULL';
    // The IRM is still the client's; the certificate was one of the other IEC.
    expect(await ledger.select(open, id)).toEqual([{ kind: 'utilisation_differs', party: await party(id) }]);
  });

  it('that becomes known waits for transactions that file for one of the two parties', async () => {
    const iec = newIec();
    const clients = [await client({ iec }), await client()] as const;
    for (const filing of clients) {
      const nameless = filing === clients[0] ? clients[1] : await client();
      await withTransaction(ledger.pool, async (db) => {
        const { partyId: before } = await lockExporter(db, filing);
        const learning = learn(nameless, iec).then(() => 'learnt');
        expect(await Promise.race([learning, untilLockWaits(ledger)])).toBe('waits');
        expect(await party(filing)).toBe(before);
      });
    }
  });

  it('may be learnt while both clients file: no mapping is live twice unnoticed', async () => {
    const iec = newIec();
    const [known, nameless] = [await client({ iec }), await client()];
    const rows = newRows(20);
    const filings = rows.flatMap((row) =>
      [known, nameless].map(
        (exporterId) => () =>
          record(ledger, `RACE-${row.mapping.sbCumInvoiceNumber}-${exporterId}`, [row], { exporterId }),
      ),
    );
    await Promise.all(
      [...filings.slice(0, 20), () => learn(nameless, iec), ...filings.slice(20)].map((each) => each()),
    );
    const twice = await ledger.select(
      'SELECT count(*) = 1 + count(collided_with) AS told FROM filing_rows WHERE live AND party_id = $1 GROUP BY fingerprint',
      await party(known),
    );
    expect(twice).toEqual(rows.map(() => ({ told: true })));
  });
});

describe('certificates', () => {
  it('are a party’s: one number belongs to one row of all its clients', async () => {
    const iec = newIec();
    const [first, second] = [await client({ iec }), await client({ iec })];
    const [one, two] = [newRows(), newRows()];
    const filings = [
      await open(ledger, `CERT-${iec}`, one, { exporterId: first }),
      await open(ledger, `CERT-${iec}-2`, two, { exporterId: second }),
    ] as const;
    await Promise.all([certify(filings[0], first, `N-${iec}`), certify(filings[1], second, `N-${iec}`)]);
    const states = (await Promise.all(filings.map((id) => readRows(ledger.pool, id)))).flat().map((row) => row.state);
    expect(states.sort()).toEqual(['certified', 'planned']);
    const unclaimed = await unclaimedCertificates(ledger.pool, second);
    expect(unclaimed.map(({ eBRCNumber }) => eBRCNumber)).not.toContain(`N-${iec}`);
  });

  it('and snapshots that one client read are there for the other', async () => {
    const iec = newIec();
    const [first, second] = [await client({ iec }), await client({ iec })];
    const filingId = await open(ledger, `SNAP-${iec}`, newRows(), { exporterId: first });
    await saveSnapshot(ledger.pool, { filingId, submission: 1, exporterId: first, certificates: ['X'], at: NOW });
    expect(await readSnapshotSource(ledger.pool, second, NOW)).toMatchObject({ recent: { listed: 1 } });
    const detail = detailOf(`U-${iec}`, mapping(), NOW);
    await saveCertificates(ledger.pool, { exporterId: first, details: [detail], at: NOW });
    expect(await unclaimedCertificates(ledger.pool, second)).toMatchObject([{ eBRCNumber: `U-${iec}` }]);
  });

  it('that two parties had claimed are disputed once they are one', async () => {
    const iec = newIec();
    const [known, nameless] = [await client({ iec }), await client()];
    const first = await open(ledger, `CLAIM-${iec}`, newRows(), { exporterId: known });
    const second = await open(ledger, `CLAIM-${iec}-2`, newRows(), { exporterId: nameless });
    await certify(first, known, `C-${iec}`);
    await certify(second, nameless, `C-${iec}`);
    await move(ledger, second, 'submitting', 'processing', 'collecting', 'certified');
    await learn(nameless, iec);
    expect(await needFiling(ledger.pool, second)).toMatchObject({
      needsAttention: true,
      warnings: [{ code: 'certificate_disputed', filingId: first }],
    });
    const holder = await ledger.select('SELECT filing_id AS id FROM certificates WHERE ebrc_number = $1', `C-${iec}`);
    expect(holder).toEqual([{ id: first }]);
  });
});
