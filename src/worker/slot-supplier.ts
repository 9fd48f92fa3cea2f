import type { ActivitySlotInfo, CustomSlotSupplier, SlotPermit, TunerHolder } from '@temporalio/worker';
import type { BudgetGate, GatePass } from '../budget/gate';

/** A permit as the SDK returns it: the object that was given to it. */
type GatedPermit = SlotPermit & { pass?: GatePass };

/**
 * Slots for the activity worker of one rate class: the worker polls for its next task only when the gate of the class
 * is open. Only the abort of a reservation throws, because the SDK reacts to any other error with a pause of one
 * second.
 */
function createGatedSlotSupplier(gate: BudgetGate): CustomSlotSupplier<ActivitySlotInfo> {
  const passOf = (permit: SlotPermit) => (permit as GatedPermit).pass;
  return {
    type: 'custom',

    async reserveSlot(_context, abortSignal) {
      return { pass: await gate.enter(abortSignal) };
    },

    // Eager tasks would bypass the server's fair order.
    tryReserveSlot: () => null,

    markSlotUsed({ permit }) {
      const pass = passOf(permit);
      if (pass) gate.started(pass);
    },

    releaseSlot({ permit }) {
      const pass = passOf(permit);
      if (pass) gate.left(pass);
    },
  };
}

/** Slots that an activity worker never uses; the SDK requires a number. */
const UNUSED = { type: 'fixed-size', numSlots: 2 } as const;

/** The `tuner` of a worker that runs the activities of one rate class and nothing else. */
export function createGatedTuner(gate: BudgetGate): TunerHolder {
  return {
    activityTaskSlotSupplier: createGatedSlotSupplier(gate),
    workflowTaskSlotSupplier: UNUSED,
    localActivityTaskSlotSupplier: UNUSED,
    nexusTaskSlotSupplier: UNUSED,
  };
}
