/** The cookie of a sign-in at the pages, the token of its forms, and choices that a browser keeps. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { escapeHtml } from '@kitajs/html';
import { isLoopbackHost } from '../../config/listen-address';
import { SIGNED_IN_S, type Session } from '../../ledger/principals/sessions';
import { Problem } from '../http/problem';
import type { Grouping } from '../views/words';

declare module 'fastify' {
  interface FastifyRequest {
    /** The session of a page; null: there is none. */
    session: Session | null;
  }
}

/** Beyond this machine cookies travel over TLS alone, and `__Host-` binds them to this host. */
const isSecure = ({ hostname }: FastifyRequest): boolean => !isLoopbackHost(hostname);
const nameOf = (request: FastifyRequest): string => (isSecure(request) ? '__Host-ebrc' : 'ebrc');

/** A cookie that no other site's page sends along. */
const strict = (request: FastifyRequest) =>
  ({ path: '/', httpOnly: true, sameSite: 'strict', secure: isSecure(request) }) as const;

export const newSecret = (): string => randomBytes(32).toString('base64url');

/** The secret of the caller's session, or of the form of its sign-in; undefined without a cookie. */
export function secretOf(request: FastifyRequest): string | undefined {
  const secret = request.cookies[nameOf(request)];
  return secret !== undefined && /^[\w-]{43}$/.test(secret) ? secret : undefined;
}

export function setSecret(request: FastifyRequest, reply: FastifyReply, secret: string): void {
  void reply.setCookie(nameOf(request), secret, { ...strict(request), maxAge: SIGNED_IN_S });
}

export function clearSecret(request: FastifyRequest, reply: FastifyReply): void {
  void reply.clearCookie(nameOf(request), strict(request));
}

/** A browser does not keep a secure cookie that came without TLS. @throws Problem 400 */
export function needTls(request: FastifyRequest): void {
  if (!isSecure(request) || request.protocol === 'https') return;
  const detail = 'Beyond this machine the pages need https: put a proxy with TLS before them, and open its address.';
  throw new Problem(400, 'needs_tls', detail);
}

/** The token of the forms of a session. It says nothing of the secret that it is made of. */
export const formToken = (secret: string): string => createHash('sha256').update(`form ${secret}`).digest('base64url');

/** Refuses a form that another site sent, or that was opened under another sign-in. @throws Problem 403 */
export function assertOwnForm(request: FastifyRequest, fields: unknown): void {
  const secret = secretOf(request);
  const { form } = (fields ?? {}) as { form?: unknown };
  const given = Buffer.from(typeof form === 'string' ? form : '');
  const own = Buffer.from(secret === undefined ? '' : formToken(secret));
  const isSame = own.length > 0 && given.length === own.length && timingSafeEqual(given, own);
  if (isSame && request.headers['sec-fetch-site'] !== 'cross-site') return;
  const detail = 'This form was opened under another sign-in. Nothing was done: open the page again, and repeat it.';
  throw new Problem(403, 'form_of_another', detail);
}

const GROUPING = 'ebrc_grouping';

export const groupingOf = ({ cookies }: FastifyRequest): Grouping =>
  cookies[GROUPING] === 'indian' ? 'indian' : 'western';

export function setGrouping(request: FastifyRequest, reply: FastifyReply, grouping: Grouping): void {
  void reply.setCookie(GROUPING, grouping, { ...strict(request), maxAge: 31_536_000 });
}

const SIGN_IN = 'ebrc_sign_in';
const SIGN_IN_WITHIN_S = 600;

const signInName = (request: FastifyRequest): string => `${isSecure(request) ? '__Host-' : ''}${SIGN_IN}`;

/** Keeps what a sign-in at the identity provider began with. Lax, because the browser comes back from there. */
export function keepSignIn(request: FastifyRequest, reply: FastifyReply, kept: object): void {
  const value = Buffer.from(JSON.stringify(kept)).toString('base64url');
  const lasts = { path: '/', httpOnly: true, sameSite: 'lax', maxAge: SIGN_IN_WITHIN_S } as const;
  void reply.setCookie(signInName(request), value, { ...lasts, secure: isSecure(request) });
}

/** What was kept, once; null without it. */
export function takeSignIn(request: FastifyRequest, reply: FastifyReply): unknown {
  const value = request.cookies[signInName(request)];
  const options = { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure(request) } as const;
  void reply.clearCookie(signInName(request), options);
  try {
    return JSON.parse(Buffer.from(value ?? '', 'base64url').toString()) as unknown;
  } catch {
    return null;
  }
}

/** Opens a page from here: a browser that comes from another site leaves the cookie of the session out. */
export function openFromHere(reply: FastifyReply, to: string): FastifyReply {
  const head = `<title>Opening</title><meta http-equiv="refresh" content="0; url=${escapeHtml(to)}">`;
  return reply.type('text/html; charset=utf-8').send(`<!doctype html><html lang="en">${head}</html>`);
}

/** A path of this server; anything else becomes the first page. */
export const ownPath = (path: unknown): string =>
  typeof path === 'string' && /^\/(?![/\\])[^\\\s]*$/.test(path) && path.length < 2_000 ? path : '/';
