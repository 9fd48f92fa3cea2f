import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { demoMessage, type DemoIrm } from '../demo-message';
import { startLocal, type Local } from '../local';
import { runCommand } from '../run-command';
import { say } from './tools';

export const EXPORTER = 'accounts@kaveri.example';

const OTHER = 'accounts@zenith.example';

export interface FiledStack {
  local: Local;
  /** Of a principal with every role. */
  token: string;
  /** Of one with every role that may see another exporter alone. */
  scoped: string;
  irms: DemoIrm[];
  ebrc: (args: string[], input?: string) => Promise<string>;
}

/** The stack of one machine with an exporter and a filing, so that requests get further than to what does not exist. */
export async function openFiledStack(folder: string, reference: string): Promise<FiledStack> {
  const sandbox = { activationDelay: '1s', ackDelay: '2s' };
  const local = await startLocal({ folder, keep: false, sandbox, log: say });
  const env = { ...local.childEnv, LOG_LEVEL: 'silent' };
  const ebrc = (args: string[], input?: string) => runCommand([...args, '--json'], { env, input, capture: true });
  try {
    const account = ['--username', 'kaveri.softworks', '--password-stdin', '--wait'];
    await ebrc(['onboard', '--name', 'Kaveri', '--email', EXPORTER, '--iec', 'AAKCK7719P', ...account], 'Kaveri@Soft9');
    const irms = JSON.parse(await ebrc(['irms', EXPORTER])) as DemoIrm[];
    const file = join(folder, 'remittances.json');
    await writeFile(file, JSON.stringify(demoMessage(irms)));
    await ebrc(['file', file, '--exporter', EXPORTER, '--reference', reference, '--wait']);
    const roles = ['viewer', 'maker', 'checker', 'admin'].flatMap((role) => ['--role', role]);
    const principal = async (...args: string[]) =>
      (JSON.parse(await ebrc(['principals', 'add', ...args, ...roles])) as { token: string }).token;
    const token = await principal('everything');
    const other = ['--name', 'Zenith', '--email', OTHER, '--iec', '0388123459', '--username', 'zenith.engineering'];
    await ebrc(['onboard', ...other, '--password-stdin', '--wait'], 'Zenith!Eng77');
    const scoped = await principal('scoped', '--exporter', OTHER);
    return { local, token, scoped, irms, ebrc };
  } catch (error) {
    await local.stop();
    throw error;
  }
}
