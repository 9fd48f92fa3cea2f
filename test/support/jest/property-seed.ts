import fc from 'fast-check';

// The same random cases in every run of the suite; `FC_SEED=7 npm test -- test/workbook` tries others.
fc.configureGlobal({ seed: Number(process.env.FC_SEED ?? 20_261_121) });
