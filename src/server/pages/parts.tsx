/** Pieces of pages. What others wrote is made printable, and escaped by the library (`safe`). */
import type { Children } from '@kitajs/html';
import type { Finding } from '../../domain/rules/finding';
import { headerOf } from '../../domain/rules/columns';
import { plainText } from '../../domain/text';
import { shown, timeText } from '../views/words';
import type { Viewer } from './page';

export const Time = ({ at }: { at: string | Date | null }): JSX.Element => {
  if (at === null) return <></>;
  const iso = typeof at === 'string' ? at : at.toISOString();
  return (
    <time datetime={iso} safe>
      {timeText(iso)}
    </time>
  );
};

const TONES: Readonly<Record<string, [tone: string, icon: string]>> = {
  ...{ certified: ['good', '✓'], ready: ['good', '✓'], carried_out: ['good', '✓'], accepted: ['good', '✓'] },
  ...{ awaiting_approval: ['waits', '◷'], needs_credentials: ['waits', '◷'], needs_access: ['waits', '◷'] },
  ...{ overdue: ['waits', '◷'], activation_pending: ['waits', '◷'] },
  ...{ partly_certified: ['bad', '!'], rejected: ['bad', '!'], needs_correction: ['bad', '!'] },
  ...{ outcome_unknown: ['bad', '?'], unknown: ['bad', '?'], released: ['bad', '!'], refused: ['bad', '!'] },
};

/** For a value of an attribute, of which the library escapes the quotation marks. */
const whole = (value: string): string => value.replaceAll('&', '&amp;');

/** A state as a word with a sign and a colour. */
export const State = ({ state }: { state: string }): JSX.Element => {
  const [tone, icon] = TONES[state] ?? ['', '•'];
  return <span class={`state ${tone}`} safe>{`${icon} ${shown(state.replaceAll('_', ' '))}`}</span>;
};

export const Link = ({ href, text, button = false }: { href: string; text: string; button?: boolean }): JSX.Element => (
  <a href={whole(href)} class={button ? 'button' : undefined} safe>
    {shown(text)}
  </a>
);

/** Names with their values; those without a value are left out. */
export const Fields = ({ pairs }: { pairs: readonly (readonly [string, string | null | undefined])[] }) => {
  const known = pairs.filter(([, value]) => Boolean(value));
  return (
    <dl class="fields">
      {known.map(([name, value]) => (
        <div>
          <dt safe>{name}</dt>
          <dd safe>{shown(value)}</dd>
        </div>
      ))}
    </dl>
  );
};

/** A text, which is escaped, or an element. */
type Cell = string | number | null | undefined | { safe: JSX.Element };

/** A table that scrolls by itself on a narrow screen, also by the keyboard. A title with `#` is of numbers. */
export const Table = ({ name, head, rows }: { name: string; head: readonly string[]; rows: readonly Cell[][] }) => {
  const kinds = head.map((title) => (title.startsWith('#') ? 'number' : undefined));
  const cell = (value: Cell, at: number): JSX.Element => {
    const safeElement = typeof value === 'object' ? value?.safe : undefined;
    if (safeElement !== undefined) return <td class={kinds[at]}>{safeElement}</td>;
    return (
      <td class={kinds[at]} safe>
        {shown(value as string | number | null | undefined)}
      </td>
    );
  };
  if (rows.length === 0) return <p>There are none.</p>;
  return (
    <div class="scroll" tabindex="0" role="region" aria-label={`${name}, table`}>
      <table>
        <thead>
          <tr>
            {head.map((title, at) => (
              <th scope="col" class={kinds[at]} safe>
                {title.replace('#', '')}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>{row.map(cell)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
};

export const Section = ({ id, title, children }: { id: string; title: string; children: Children }): JSX.Element => (
  <section id={id} aria-labelledby={`${id}-title`}>
    <h2 id={`${id}-title`} safe>
      {title}
    </h2>
    {children}
  </section>
);

/** One of several answers: what it does, and its form. */
type FoldProps = { title: string; text: string; open?: boolean; children: Children };
export const Fold = ({ title, text, open, children }: FoldProps): JSX.Element => (
  <details class="card" open={open}>
    <summary safe>{title}</summary>
    <p class="prose" safe>
      {shown(text)}
    </p>
    {children}
  </details>
);

interface InputProps {
  label: string;
  name: string;
  id?: string;
  value?: string;
  type?: string;
  hint?: string;
  required?: boolean;
  rows?: number;
  accept?: string;
  autocomplete?: string;
  autofocus?: boolean;
}

/** A field of a form, with its label and what is to be written. */
export const Input = ({ label, name, id = name, value = '', hint, rows, type = 'text', ...more }: InputProps) => {
  const about = { id, name, 'aria-describedby': hint === undefined ? undefined : `${id}-hint`, ...more };
  return (
    <p class="input">
      <label for={id} safe>
        {label}
      </label>
      {rows === undefined ? (
        <input type={type} value={type === 'file' ? undefined : whole(value)} {...about} />
      ) : (
        <textarea rows={String(rows)} {...about} safe>
          {value}
        </textarea>
      )}
      {hint !== undefined && (
        <span id={`${id}-hint`} class="hint" safe>
          {hint}
        </span>
      )}
    </p>
  );
};

type Options = readonly (readonly [value: string, text: string])[];

type SelectProps = { label: string; name: string; options: Options; value?: string; children?: Children };
export const Select = (props: SelectProps) => (
  <p class="input">
    <label for={props.name} safe>
      {props.label}
    </label>
    <select id={props.name} name={props.name}>
      {props.options.map(([value, text]) => (
        <option value={whole(value)} selected={value === props.value} safe>
          {shown(text)}
        </option>
      ))}
    </select>
    {props.children}
  </p>
);

/** One of a few values, of which none is chosen. */
export const Choice = ({ legend, name, options }: { legend: string; name: string; options: Options }): JSX.Element => (
  <fieldset class="choice">
    <legend safe>{legend}</legend>
    {options.map(([value, text]) => (
      <p>
        <label>
          <input type="radio" name={name} value={value} required /> <span safe>{text}</span>
        </label>
      </p>
    ))}
  </fieldset>
);

const Hidden = ({ fields }: { fields: Readonly<Record<string, string | readonly string[]>> }): JSX.Element => (
  <>
    {Object.entries(fields).map(([name, values]) =>
      [values].flat().map((value) => <input type="hidden" name={name} value={whole(value)} />),
    )}
  </>
);

interface FormProps {
  viewer: Pick<Viewer, 'form' | 'fresh' | 'atProvider' | 'path'>;
  action: string;
  button: string;
  quiet?: boolean;
  file?: boolean;
  hidden?: Parameters<typeof Hidden>[0]['fields'];
  /** Somebody who signed in a while ago shows anew who it is; the id of that field begins so. */
  again?: string;
  children?: Children;
}

/** A form of the viewer's own session. */
export const Form = (props: FormProps): JSX.Element => {
  const { viewer, action, button, quiet, file, hidden = {}, again, children } = props;
  const late = again !== undefined && !viewer.fresh;
  if (late && viewer.atProvider) return <SignInAgain path={viewer.path} to={button} />;
  return (
    <form method="post" action={action} enctype={file ? 'multipart/form-data' : undefined}>
      <Hidden fields={{ ...hidden, form: viewer.form }} />
      {children}
      {late && (
        <Input
          label="Your token"
          name="token"
          id={`${again}-token`}
          type="password"
          autocomplete="current-password"
          required
          hint={`${LATE}: show again that it is you.`}
        />
      )}
      <button class={quiet ? 'quiet' : undefined} safe>
        {shown(button)}
      </button>
    </form>
  );
};

const LATE = 'You signed in more than fifteen minutes ago';

const SignInAgain = ({ path, to }: { path: string; to: string }): JSX.Element => (
  <p class="note">
    {LATE}. <Link href={`/sign-in/provider?again=yes&next=${encodeURIComponent(path)}`} text={`Sign in again: ${to}`} />
  </p>
);

const MOST_PROBLEMS = 100;

/** Problems, each with the cell that it is about. */
export const Problems = ({ problems }: { problems: readonly unknown[] }): JSX.Element => (
  <ul>
    {problems.slice(0, MOST_PROBLEMS).map((problem) => {
      const { row = null, column, field = null, message } = asProblem(problem);
      const cell = row === null ? null : column === undefined ? `Row ${row}` : `Cell ${column}${row}`;
      const place = [cell, headerOf(field)].filter(Boolean).join(', ');
      return <li safe>{shown(place === '' ? message : `${place}: ${message}`)}</li>;
    })}
  </ul>
);

const asProblem = (problem: unknown): Partial<Finding> & Pick<Finding, 'message'> =>
  typeof problem === 'object' && problem !== null && 'message' in problem
    ? (problem as Finding)
    : { message: plainText(problem) };

/** Something that went wrong, or that somebody should know before anything else. */
export const Alert = ({ title, problems = [] }: { title: string; problems?: readonly unknown[] }): JSX.Element => (
  <div class="alert" role="alert">
    <p>
      <strong safe>{`! ${title}`}</strong>
    </p>
    {problems.length > 0 && <Problems problems={problems} />}
  </div>
);

/** A link to the neighbouring part of a list, if there is one. */
export const More = ({ href, text }: { href: string | null; text: string }): JSX.Element =>
  href === null ? <></> : <p class="more">{<Link href={href} text={text} />}</p>;

/** What a filing asks; the names of evidence are sentences on its page. */
export const attentionText = (text: string): string =>
  shown(text.replace(/ Found: .*$/u, ' Something speaks against “not filed”.'));

export const filingHref = (name: string): string => `/filings/${encodeURIComponent(name)}`;
export const exporterHref = (id: string): string => `/exporters/${encodeURIComponent(id)}`;
