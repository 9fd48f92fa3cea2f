import { NOTE_START } from './cell-styles';
import { type ElementAt, appendChild, elements, attribute, runsText, textElement, xmlData } from '../ooxml/xml-edit';
import { placeOf } from '../sheet/addresses';

const AUTHOR = 'eBRC check';
/** Prefix of the author of threaded comments in the part of plain notes, where their text is only for old programs. */
const THREADED_AUTHOR = 'tc=';
/** Notes have the same limit as cells. */
const MAX_NOTE_LENGTH = 32_000;

export const NO_NOTES = (main: string): string => `<comments xmlns="${main}"><authors/><commentList/></comments>`;

/** A sheet's notes part. */
export class Notes {
  private readonly notes: { element: ElementAt; address: string; text: string; threaded: boolean }[];

  constructor(private readonly xml: string) {
    const authors = [...elements(xml, 'author')].map(({ content }) => content);
    this.notes = [...elements(xml, 'comment')].map((element) => {
      const tag = `<comment${element.attributes}>`;
      return {
        element,
        address: attribute(tag, 'ref') ?? '',
        text: runsText(element.content),
        threaded: (authors[Number(attribute(tag, 'authorId'))] ?? '').startsWith(THREADED_AUTHOR),
      };
    });
  }

  get addresses(): string[] {
    return this.notes.map(({ address }) => address);
  }

  /** Cells with an earlier run's note, or with a threaded comment, which is kept. */
  get marked(): string[] {
    const ours = this.notes.filter(({ text, threaded }) => threaded || text.includes(NOTE_START));
    return [...new Set(ours.map(({ address }) => address))];
  }

  /** Replaces an earlier run's texts; the user's own stay in front. @param messages texts by address */
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
      const userText = note.text.split(NOTE_START)[0]?.trimEnd() ?? '';
      const runs = userText === '' ? '' : userRuns(element.content, userText.length);
      parts.push(this.xml.slice(copied, element.start));
      copied = element.end;
      if (message !== undefined) parts.push(comment(element.attributes, runs + ourRun(message, userText !== '')));
      else if (userText !== '') parts.push(comment(element.attributes, runs));
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

function ourRun(message: string, afterUserText: boolean): string {
  return `<r>${textElement(`${afterUserText ? '\n' : ''}${NOTE_START}${message}`.slice(0, MAX_NOTE_LENGTH))}</r>`;
}

function userRuns(content: string, length: number): string {
  const [text] = elements(content, 'text');
  // Runs are put beside each other; plain text is allowed only alone.
  const runs = (text?.content ?? '').replace(/^\s*(<t(?:\s[^<>]*)?>[^<]*<\/t>)/, '<r>$1</r>');
  let rest = length;
  let kept = '';
  for (const run of elements(runs, 'r')) {
    if (rest === 0) break;
    const userText = runsText(run.content);
    if (userText === '') continue;
    const whole = userText.length <= rest;
    kept += whole
      ? `<r>${run.content}</r>`
      : `<r>${run.content.replace(/<t(?:\s[^<>]*)?>[^<]*<\/t>/, textElement(userText.slice(0, rest)).replace(/\$/g, '$$$$'))}</r>`;
    rest -= Math.min(rest, userText.length);
  }
  return kept;
}

/** Notes are shown in boxes of a separate drawing in VML, which is older than the rest of the format. */
export const NO_SHAPES =
  '<xml xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office" xmlns:x="urn:schemas-microsoft-com:office:excel"><o:shapelayout v:ext="edit"><o:idmap v:ext="edit" data="1"/></o:shapelayout></xml>';

const SHAPE_TYPE =
  '<v:shapetype id="_x0000_t202" coordsize="21600,21600" o:spt="202" path="m,l,21600r21600,l21600,xe"><v:stroke joinstyle="miter"/><v:path gradientshapeok="t" o:connecttype="rect"/></v:shapetype>';

const FIRST_ID = 1025;

/** Removes and adds boxes of notes, and keeps everything else in the drawing. */
export function editShapes(drawing: string, removed: readonly string[], added: readonly string[]): string {
  const vml = drawing.includes('</xml>') ? drawing : NO_SHAPES;
  const gone = new Set(removed.map((address) => placeOf(address).join()));
  const parts: string[] = [];
  let copied = 0;
  for (const { start, end, content } of gone.size === 0 ? [] : elements(vml, 'v:shape')) {
    if (!/ObjectType="Note"/.test(content) || !gone.has(placeIn(content))) continue;
    parts.push(vml.slice(copied, start));
    copied = end;
  }
  const kept = parts.join('') + vml.slice(copied);
  if (added.length === 0) return kept;
  let id = FIRST_ID;
  for (const [, used] of kept.matchAll(/"_x0000_s(\d{1,9})"/g)) id = Math.max(id, Number(used) + 1);
  const shapes = added.map((address, index) => shape(address, id + index)).join('');
  const type = kept.includes('id="_x0000_t202"') ? '' : SHAPE_TYPE;
  const end = kept.lastIndexOf('</xml>');
  return kept.slice(0, end) + type + shapes + kept.slice(end);
}

/** The address of a box, as {@link placeOf} has it; the drawing counts rows and columns from 0. */
function placeIn(content: string): string {
  const value = (name: string) => Number(new RegExp(`<x:${name}>\\s*(\\d+)\\s*</x:${name}>`).exec(content)?.[1]);
  return [value('Row') + 1, value('Column') + 1].join();
}

function shape(address: string, id: number): string {
  const [row, column] = placeOf(address).map((one) => one - 1) as [number, number];
  const anchor = [column + 1, 15, row, 2, column + 5, 15, row + 6, 4].join(', ');
  return `<v:shape id="_x0000_s${id}" type="#_x0000_t202" style="position:absolute;margin-left:60pt;margin-top:2pt;width:240pt;height:90pt;z-index:1;visibility:hidden" fillcolor="#ffffe1" o:insetmode="auto"><v:fill color2="#ffffe1"/><v:shadow on="t" color="black" obscured="t"/><v:path o:connecttype="none"/><v:textbox style="mso-direction-alt:auto"><div style="text-align:left"></div></v:textbox><x:ClientData ObjectType="Note"><x:MoveWithCells/><x:SizeWithCells/><x:Anchor>${anchor}</x:Anchor><x:AutoFill>False</x:AutoFill><x:Row>${row}</x:Row><x:Column>${column}</x:Column></x:ClientData></v:shape>`;
}
