/** An answer in bytes. */
export interface Rendered {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
  errorCode: string | null;
}
