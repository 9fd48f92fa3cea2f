// Runs test files in the order of EBRC_TEST_ORDER, so that the nearest to a change may notice it first.
const { default: Sequencer } = require('@jest/test-sequencer');

module.exports = class InOrder extends Sequencer {
  sort(tests) {
    const order = (process.env.EBRC_TEST_ORDER ?? '').split('\n');
    const placeOf = ({ path }) => order.findIndex((name) => path.endsWith(`/${name}`));
    return [...tests].sort((a, b) => placeOf(a) - placeOf(b));
  }
};
