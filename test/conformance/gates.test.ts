/**
 * The gates do what their model says (docs/protocol.md, "From the model to the code"): walks of the model are driven
 * through them step by step, and after each step the database is in the state that the model is in. More walks:
 * `npm run model -- --sample FILE --walks 500`, then EBRC_CONFORMANCE=FILE npx jest test/conformance.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { knowExporter } from '../ledger/filing-support';
import { useTestDatabase } from '../support/postgres';
import { drive, type Walk } from './gates-driver';

const file = process.env.EBRC_CONFORMANCE ?? join(__dirname, 'traces.json');
const walks = JSON.parse(readFileSync(file, 'utf8')) as Walk[];

const ledger = useTestDatabase(knowExporter);
let followed = 0;

for (const walk of walks) {
  it(walk.name, async () => {
    // Looks are the party's: each walk has its own.
    await ledger.pool.query('DELETE FROM looks');
    const driven = await drive(ledger, walk);
    followed += driven.followed;
    expect(driven.stopped).toBeNull();
  });
}

it('was driven far into the walks', () => expect(followed).toBeGreaterThan(10 * walks.length));
