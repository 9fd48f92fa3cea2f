/** A browser without JavaScript, as plain HTTP: cookies, redirects, and the forms of its pages. */
import { request } from 'undici';

export interface Shown {
  status: number;
  /** The path that was redirected to; null: none was. */
  to: string | null;
  text: string;
  headers: Record<string, string | string[] | undefined>;
}

type Fields = Record<string, string | string[]>;

export type Browser = ReturnType<typeof createBrowser>;

/** @param origin of the server @param headers that every request has, such as those of a proxy */
export function createBrowser(origin: string, headers: Record<string, string> = {}) {
  const cookies = new Map<string, string>();
  /** What each cookie was set with. */
  const set: string[] = [];

  async function ask(method: 'GET' | 'POST', path: string, body?: string | FormData, more = {}): Promise<Shown> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const type = typeof body === 'string' ? { 'content-type': 'application/x-www-form-urlencoded' } : {};
    const answer = await request(`${origin}${path}`, {
      method,
      headers: { ...(cookie !== '' && { cookie }), ...type, ...headers, ...more },
      body: body as string,
    });
    for (const each of [answer.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/u.exec(each) ?? [];
      set.push(each);
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    const to = (answer.headers['location'] as string | undefined) ?? null;
    return { status: answer.statusCode, to, text: await answer.body.text(), headers: answer.headers };
  }

  const open = (path: string, more?: Record<string, string>) => ask('GET', path, undefined, more);

  /** Sends fields as they are. */
  const send = (path: string, fields: Fields) => {
    const form = new URLSearchParams();
    for (const [name, values] of Object.entries(fields)) for (const value of [values].flat()) form.append(name, value);
    return ask('POST', path, form.toString());
  };

  /** Sends a form of a page with its hidden fields, and these. @param to where it goes */
  async function submit(page: string, to: string, fields: Fields, file?: { name: string; bytes: Buffer }) {
    const form = formOf((await open(page)).text, to);
    if (file === undefined) return send(to, { ...form, ...fields });
    const parts = new FormData();
    for (const [name, values] of Object.entries({ ...form, ...fields }))
      for (const value of [values].flat()) parts.append(name, value);
    parts.append('file', new Blob([new Uint8Array(file.bytes)]), file.name);
    return ask('POST', to, parts);
  }

  return {
    open,
    send,
    submit,
    set,
    cookies,
    signIn: (token: string) => submit('/sign-in', '/sign-in', { token }),
    /** The token of this browser's forms. */
    form: async () => String(formOf((await open('/you')).text, '/sign-out')['form']),
  };
}

/** The hidden fields of the form of a page. @throws Error where there is none */
export function formOf(html: string, to: string): Fields {
  const form = html.split('<form').find((each) => each.includes(` action="${to}"`));
  if (form === undefined) throw new Error(`No form goes to ${to}.`);
  const fields: Record<string, string[]> = {};
  for (const [, name = '', value = ''] of form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/gu))
    (fields[name] ??= []).push(value.replaceAll('&#34;', '"').replaceAll('&quot;', '"').replaceAll('&amp;', '&'));
  return fields;
}
