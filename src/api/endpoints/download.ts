import { BadAnswerError, readText } from '../http/answers';
import type { Caller, CallRequest } from '../http/call';
import type { CallContext, DownloadInfo, DownloadSink } from '../client-types';
import type { TransportAnswer } from '../http/transport';

const EXCERPT_BYTES = 4_096;

/** Makes a call whose answer is a file, and streams it to `sink`. The file is never held completely in memory here. */
export function createDownload(caller: Caller) {
  return async function download<T>(request: CallRequest, sink: DownloadSink<T>, call: CallContext): Promise<T> {
    return caller.call({ accept: '*/*', ...request }, call, async (answer) => {
      const info = infoOf(answer);
      // A proxy's page, or JSON in place of a file, must not reach the store.
      if (info.contentType !== null && /json|html|xml(?!formats)|text\//iu.test(info.contentType)) {
        const start = await readText(answer.body, EXCERPT_BYTES);
        throw new BadAnswerError(`the answer is ${info.contentType} instead of a file`, start);
      }
      return sink(answer.body, info);
    });
  };
}

function infoOf(answer: TransportAnswer): DownloadInfo {
  const length = header(answer, 'content-length');
  const disposition = header(answer, 'content-disposition') ?? '';
  return {
    contentType: header(answer, 'content-type'),
    contentLength: length === null || !/^\d+$/u.test(length) ? null : Number(length),
    fileName: /filename="?([^";]+)"?/iu.exec(disposition)?.[1]?.trim() ?? null,
  };
}

function header(answer: TransportAnswer, name: string): string | null {
  const value = answer.headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}
