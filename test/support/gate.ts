/** A promise that tests resolve by hand. */
export interface Gate {
  passed: Promise<void>;
  open: () => void;
}

/** A closed gate. */
export function gate(): Gate {
  let open: () => void = () => undefined;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { passed, open: () => open() };
}
