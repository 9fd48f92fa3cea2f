import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Paths of PEM files. */
export interface Certificate {
  certificate: string;
  key: string;
}

/** A certificate authority for one test, with the certificates that it signs. */
export interface Authority {
  certificate: string;
  /** A certificate for a server on 127.0.0.1, localhost and the host of this name, or for a client. */
  sign(name: string): Promise<Certificate>;
}

/** Whether there is an `openssl` to make certificates with. */
export async function hasOpenssl(): Promise<boolean> {
  return run('openssl', ['version']).then(
    () => true,
    () => false,
  );
}

export async function createAuthority(folder: string, name = 'authority'): Promise<Authority> {
  const at = (file: string) => join(folder, file);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const own = { certificate: at(`${name}.pem`), key: at(`${name}.key`) };
  const ca = ['-x509', '-days', '90', '-subj', `/CN=${name}`, '-addext', 'basicConstraints=critical,CA:TRUE'];
  await run('openssl', ['req', ...key, ...ca, '-keyout', own.key, '-out', own.certificate]);
  return {
    certificate: own.certificate,
    sign: async (subject) => {
      const [request, extensions] = [at(`${subject}.csr`), at(`${subject}.ext`)];
      const signed = { certificate: at(`${subject}.pem`), key: at(`${subject}.key`) };
      const names = `subjectAltName=DNS:localhost,DNS:${subject},IP:127.0.0.1`;
      await writeFile(extensions, `${names}\nbasicConstraints=CA:FALSE\n`);
      await run('openssl', ['req', ...key, '-subj', `/CN=${subject}`, '-keyout', signed.key, '-out', request]);
      const by = ['-CA', own.certificate, '-CAkey', own.key, '-CAcreateserial', '-days', '90', '-extfile', extensions];
      await run('openssl', ['x509', '-req', '-in', request, ...by, '-out', signed.certificate]);
      return signed;
    },
  };
}
