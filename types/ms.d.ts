// Temporal's types import this one, whose package states none for `moduleResolution: node16`.
declare module 'ms' {
  export type StringValue = string;
}
