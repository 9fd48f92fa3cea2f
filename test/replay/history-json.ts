/**
 * Histories as the JSON that Temporal's own tools print, and back. The SDK's functions for it fail where npm installs
 * more than one copy of protobufjs ("type must be a Type"), which it does here: the codec has to be of the same copy as
 * the types.
 */
import { createRequire } from 'node:module';
import type { History } from '@temporalio/common/lib/proto-utils';

interface ProtoJson {
  toJson(type: unknown, message: unknown): unknown;
  fromJson(type: unknown, json: unknown, options: { ignoreUnknownFields: boolean }): History;
}
interface HistoryType {
  fromObject(history: unknown): unknown;
}

const ofTheSdk = createRequire(require.resolve('@temporalio/common'));
const ofTheTypes = createRequire(ofTheSdk.resolve('@temporalio/proto'));
const codec = ofTheTypes('protobufjs/ext/protojson') as ProtoJson;
const { patchProtobufRoot } = ofTheTypes('@temporalio/proto/lib/patch-protobuf-root') as {
  patchProtobufRoot: (root: unknown) => { lookupType(name: string): HistoryType };
};
const historyType = patchProtobufRoot(ofTheSdk('@temporalio/proto')).lookupType('temporal.api.history.v1.History');

export function historyToJson(history: History): unknown {
  return codec.toJson(historyType, historyType.fromObject(history));
}

/** Fields that this SDK does not know are left out: a newer server may have written them. */
export function historyFromJson(json: unknown): History {
  return codec.fromJson(historyType, json, { ignoreUnknownFields: true });
}
