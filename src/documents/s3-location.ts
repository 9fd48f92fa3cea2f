/** The document store's location in an object store, parsed from EBRC_DOCUMENTS. */
export interface S3Location {
  bucket: string;
  /** Empty, or ends in a slash. */
  prefix: string;
  /** Server-side encryption; undefined: the bucket's default. */
  sse?: 'AES256' | 'aws:kms';
  kmsKeyId?: string;
  /** Put the bucket into the path instead of the host name, as most servers other than Amazon's require. */
  pathStyle: boolean;
}

export const S3_FORM =
  's3://BUCKET/PREFIX, with ?sse=AES256 or ?sse=aws:kms&kms-key-id=KEY for encryption and path-style=true where the server wants it';

export function isS3(root: string): boolean {
  return root.startsWith('s3:');
}

/** Parses `s3://bucket/prefix?sse=…`; null for any other text. */
export function parseS3Location(text: string): S3Location | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== 's3:' || url.username || url.password || url.port || url.hash) return null;
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(url.hostname)) return null;
  const path = url.pathname.replace(/^\/+|(?<!\/)\/+$/g, '');
  // Records and documents are distinguished by their names below the prefix.
  if (!/^[\w.!*'()/-]*$/.test(path) || path.split('/').some((part) => part === '..' || part === '.')) return null;
  const options = optionsOf(url.searchParams);
  return options && { bucket: url.hostname, prefix: path === '' ? '' : `${path}/`, ...options };
}

const OPTIONS = ['sse', 'kms-key-id', 'path-style'];

function optionsOf(parameters: URLSearchParams): Pick<S3Location, 'sse' | 'kmsKeyId' | 'pathStyle'> | null {
  if ([...parameters.keys()].some((name) => !OPTIONS.includes(name))) return null;
  const sse = parameters.get('sse') ?? undefined;
  const kmsKeyId = parameters.get('kms-key-id') ?? undefined;
  const pathStyle = parameters.get('path-style') ?? 'false';
  if (sse !== undefined && sse !== 'AES256' && sse !== 'aws:kms') return null;
  if (kmsKeyId !== undefined && sse !== 'aws:kms') return null;
  if (pathStyle !== 'true' && pathStyle !== 'false') return null;
  return { ...(sse && { sse }), ...(kmsKeyId && { kmsKeyId }), pathStyle: pathStyle === 'true' };
}
