import { VARIABLES, type ValueOf, type Variable } from './variables';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ConfigProblem {
  variable: string;
  /** What is wrong with it and what is allowed. */
  problem: string;
}

/** Reads variables one by one and notes what is wrong with them. */
export interface Reader {
  /** The value or its default; undefined when it is unset or wrong (the problem is noted). */
  optional<V extends Variable>(name: V): ValueOf<V> | undefined;
  /** As `optional`, and notes `missing` as the problem where it is unset and has no default. */
  required<V extends Variable>(name: V, missing?: string): ValueOf<V> | undefined;
  isSet(name: Variable): boolean;
  report(variable: string, problem: string): void;
  problems(): ConfigProblem[];
}

export function createReader(env: Environment): Reader {
  const problems = new Map<string, string>();
  const textOf = (name: Variable) => {
    const { default: byDefault } = VARIABLES[name] as { default?: string };
    return env[name]?.trim() || byDefault;
  };
  const report = (variable: string, problem: string) => {
    if (!problems.has(variable)) problems.set(variable, problem);
  };
  const optional = <V extends Variable>(name: V): ValueOf<V> | undefined => {
    const text = textOf(name);
    if (text === undefined) return undefined;
    const read = VARIABLES[name].value.safeParse(text);
    if (read.success) return read.data as ValueOf<V>;
    report(name, read.error.issues[0]?.message ?? 'cannot be read');
    return undefined;
  };
  return {
    optional,
    required: (name, missing = 'is missing') => {
      if (textOf(name) === undefined) report(name, missing);
      return optional(name);
    },
    isSet: (name) => textOf(name) !== undefined,
    report,
    problems: () => [...problems].map(([variable, problem]) => ({ variable, problem })),
  };
}
