import { queuePlaces } from '../../../src/domain/filing/view';

const queued = (filingId: string, exporterId: string, calls = 1) => ({ filingId, exporterId, calls });

test('exporters take turns, so one with many calls does not hold up another', () => {
  const places = queuePlaces([queued('many', 'asha', 900), queued('few', 'ravi', 3)], 5);
  // Three of its own and three of the other exporter.
  expect(places.get('few')).toEqual({ place: 1, of: 2, windows: 1 });
  expect(places.get('many')).toEqual({ place: 2, of: 2, windows: 180 });
});

test('filings of one exporter go one after the other, and the first calls of a window at once', () => {
  const places = queuePlaces(
    Array.from({ length: 12 }, (_, index) => queued(`f${index}`, 'asha')),
    10,
  );
  expect(places.get('f0')).toEqual({ place: 1, of: 12, windows: 0 });
  expect(places.get('f9')).toEqual({ place: 10, of: 12, windows: 0 });
  expect(places.get('f11')).toEqual({ place: 12, of: 12, windows: 1 });
});
