import { createFolderStore } from './folder-store';
import { createS3Store } from './s3/s3-store';
import { isS3 } from './s3-location';
import type { DocumentStore } from './stored-document';

export type { DocumentStore, StoredDocument } from './stored-document';

/** @param root the value of EBRC_DOCUMENTS: a folder, a `file:` URL, or `s3://bucket/prefix` */
export function createDocumentStore({ root }: { root: string }): DocumentStore {
  return isS3(root) ? createS3Store(root) : createFolderStore(root);
}
