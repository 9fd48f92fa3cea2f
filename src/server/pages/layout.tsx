/** What every page has: its head, navigation, and foot. */
import type { Children } from '@kitajs/html';
import { ASSETS } from './assets';
import { ASK_EVERY_S } from '../views/live';
import type { Viewer } from './page';
import { Alert, Form, Link } from './parts';

const PLACES: readonly (readonly [href: string, text: string, role: string | null])[] = [
  ['/', 'Needs you', null],
  ['/file', 'File', 'maker'],
  ['/filings', 'Filings', null],
  ['/certificates', 'Certificates', null],
  ['/exporters', 'Exporters', null],
];

/** A page for somebody who is signed in. */
export const Layout = ({ viewer, title, children }: { viewer: Viewer; title: string; children: Children }) => {
  const { principal, path, mode, grouping } = viewer;
  const places = PLACES.filter(([, , role]) => role === null || principal.roles.includes(role as 'maker'));
  const isHere = (href: string) => (href === '/' ? path === '/' : path === href || path.startsWith(`${href}/`));
  const other = grouping === 'indian' ? 'western' : 'indian';
  const button = `Amounts as ${other === 'indian' ? '12,34,567.00' : '1,234,567.00'}`;
  return (
    <Document title={title}>
      <header>
        <nav aria-label="Pages">
          {places.map(([href, text]) => (
            <a href={href} aria-current={isHere(href) ? 'page' : undefined} safe>
              {text}
            </a>
          ))}
        </nav>
        <p class="who">
          <span class="mode" safe>{`${mode} mode`}</span> <Link href="/you" text={principal.name} />
        </p>
      </header>
      <main id="main" tabindex="-1">
        {children}
      </main>
      <footer>
        <Form viewer={viewer} action="/grouping" hidden={{ next: path, grouping: other }} quiet button={button} />
        <Form viewer={viewer} action="/sign-out" quiet button="Sign out" />
      </footer>
    </Document>
  );
};

/** Nothing is evaluated, styled in line, or loaded from elsewhere. */
const HTMX = JSON.stringify({
  ...{ allowEval: false, allowScriptTags: false, includeIndicatorStyles: false },
  ...{ selfRequestsOnly: true, historyCacheSize: 0 },
});

/** A page for anybody. */
export const Document = ({ title, children }: { title: string; children: Children }): JSX.Element => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <meta name="htmx-config" content={HTMX} />
      <title safe>{`${title} – eBRC`}</title>
      <link rel="stylesheet" href={ASSETS.style.url} />
      <link rel="icon" href="data:," />
      <script src={ASSETS.htmx.url} defer></script>
    </head>
    <body>
      <a class="skip" href="#main">
        To the content
      </a>
      {children}
    </body>
  </html>
);

interface LiveProps {
  href: string;
  about: string;
  seen: string;
  /** The ids of the parts that are read anew. */
  parts: readonly string[];
}

/** Asks whether what is shown has changed, and then reads parts of the page anew. */
export const Live = ({ href, about, seen, parts }: LiveProps): JSX.Element => {
  const ask = `/live?${new URLSearchParams({ about, seen }).toString()}`;
  const oob = parts.map((id) => `#${id}`).join(',');
  const read = {
    'hx-get': href,
    'hx-select': '#live',
    'hx-target': '#live',
    'hx-swap': 'outerHTML',
    'hx-select-oob': oob,
  };
  return (
    <div id="live" hidden>
      <div hx-get={ask} hx-trigger={`load delay:500ms, every ${ASK_EVERY_S}s`} hx-swap="none"></div>
      <div hx-trigger="ebrc-changed from:body" {...read}></div>
    </div>
  );
};

/** A refusal or an error, with what to do. */
export const ErrorPage = (props: { viewer: Viewer | null; title: string; detail: string; requestId: string }) => {
  const { viewer, title, detail, requestId } = props;
  const text = (
    <>
      <h1 safe>{title}</h1>
      <Alert title={detail} />
      <p>
        <Link href="/" text="To the first page" />
      </p>
      <p class="hint" safe>{`Request ${requestId}`}</p>
    </>
  );
  if (viewer) return <Layout viewer={viewer} title={title} children={text} />;
  return <Document title={title} children={<main id="main">{text}</main>} />;
};
