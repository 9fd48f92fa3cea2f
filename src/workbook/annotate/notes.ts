import { NOTE_START } from './cell-marks';
import type { ElementAt } from '../ooxml/xml-edit';
import { appendChild, elements } from '../ooxml/xml-edit';
import { attribute, runsText, textElement, xmlData } from '../ooxml/xml-text';

const AUTHOR = 'eBRC check';
/** The author that a threaded comment has in the part of plain notes; its text there is for old programs alone. */
const THREADED = 'tc=';
/** A note has the same limit as a cell. */
const MAX_NOTE_LENGTH = 32_000;

export const NO_NOTES = (main: string): string => `<comments xmlns="${main}"><authors/><commentList/></comments>`;

interface Note {
  element: ElementAt;
  address: string;
  text: string;
  threaded: boolean;
}

/** The notes part of a sheet. */
export class Notes {
  private readonly notes: Note[];

  constructor(private readonly xml: string) {
    const authors = [...elements(xml, 'author')].map(({ content }) => content);
    this.notes = [...elements(xml, 'comment')].map((element) => {
      const tag = `<comment${element.attributes}>`;
      return {
        element,
        address: attribute(tag, 'ref') ?? '',
        text: runsText(element.content),
        threaded: (authors[Number(attribute(tag, 'authorId'))] ?? '').startsWith(THREADED),
      };
    });
  }

  get addresses(): string[] {
    return this.notes.map(({ address }) => address);
  }

  /**
   * Cells that an earlier run may have filled: those with our text in their note, or with a threaded comment, which we
   * do not change.
   */
  get marked(): string[] {
    const ours = this.notes.filter(({ text, threaded }) => threaded || text.includes(NOTE_START));
    return [...new Set(ours.map(({ address }) => address))];
  }

  /**
   * Removes our texts of an earlier run and adds new ones, after the user's own if a cell has a note.
   * @param messages texts by address
   */
  write(messages: ReadonlyMap<string, string>): { xml: string; added: string[]; removed: string[] } {
    const parts: string[] = [];
    const removed: string[] = [];
    const rest = new Map(messages);
    let copied = 0;
    for (const note of this.notes) {
      const { element, address } = note;
      const message = rest.get(address);
      rest.delete(address);
      if (note.threaded || (message === undefined && !note.text.includes(NOTE_START))) continue;
      const own = note.text.split(NOTE_START)[0]?.trimEnd() ?? '';
      const runs = own === '' ? '' : ownRuns(element.content, own.length);
      parts.push(this.xml.slice(copied, element.start));
      copied = element.end;
      if (message !== undefined) parts.push(comment(element.attributes, runs + ourRun(message, own !== '')));
      else if (own !== '') parts.push(comment(element.attributes, runs));
      else removed.push(address);
    }
    const kept = parts.join('') + this.xml.slice(copied);
    return { xml: this.withNew(kept, rest), added: [...rest.keys()], removed };
  }

  private withNew(xml: string, messages: ReadonlyMap<string, string>): string {
    if (messages.size === 0) return xml;
    const authors = [...elements(xml, 'author')].map(({ content }) => content);
    const known = authors.indexOf(AUTHOR);
    const author = known >= 0 ? known : authors.length;
    const named = known >= 0 ? xml : appendChild(xml, 'authors', `<author>${AUTHOR}</author>`);
    const added = [...messages].map(([address, message]) =>
      comment(` ref="${xmlData(address)}" authorId="${author}"`, ourRun(message, false)),
    );
    return appendChild(named, 'commentList', added.join(''));
  }
}

function comment(attributes: string, runs: string): string {
  return `<comment${attributes}><text>${runs}</text></comment>`;
}

function ourRun(message: string, behindOwn: boolean): string {
  return `<r>${textElement(`${behindOwn ? '\n' : ''}${NOTE_START}${message}`.slice(0, MAX_NOTE_LENGTH))}</r>`;
}

/** The runs of a note up to a length of text, with their formatting. */
function ownRuns(content: string, length: number): string {
  const [text] = elements(content, 'text');
  // Plain text beside runs is not allowed; alone, no run is needed.
  const runs = (text?.content ?? '').replace(/^\s*(<t(?:\s[^<>]*)?>[^<]*<\/t>)/, '<r>$1</r>');
  let rest = length;
  let kept = '';
  for (const run of elements(runs, 'r')) {
    if (rest === 0) break;
    const own = runsText(run.content);
    if (own === '') continue;
    const whole = own.length <= rest;
    kept += whole
      ? `<r>${run.content}</r>`
      : `<r>${run.content.replace(/<t(?:\s[^<>]*)?>[^<]*<\/t>/, textElement(own.slice(0, rest)).replace(/\$/g, '$$$$'))}</r>`;
    rest -= Math.min(rest, own.length);
  }
  return kept;
}
