// Guides in docs/ are played: a test runs what they tell their reader to run, in the order of the page, and compares what it prints with what they say it prints.
//
//   ```sh      a step: commands for bash. All steps of a page are typed into one shell, which goes on only if each command succeeds.
//   ```text    what the step before it prints, on both outputs.
//
// In such output `…` stands for anything within a line, and on a line of its own for any number of lines. How many blanks separate columns does not matter; ages, times and
// the random part of a Pod's name are compared by their form.

/** A block of commands of a page, with what it prints. */
export interface GuideStep {
  /** Of the page, at which the commands begin. */
  readonly line: number;
  readonly script: string;
  /** Null where the page does not show it. */
  readonly prints: string | null;
}

const FENCE = /^```(\w*)\n([\s\S]*?)^```$/gm;

/** The steps of a page, or of a section of it. @throws Error when a block is neither a step nor what a step prints */
export function stepsOf(page: string): readonly GuideStep[] {
  const steps: GuideStep[] = [];
  for (const { 1: language, 2: text = '', index } of page.matchAll(FENCE)) {
    const line = page.slice(0, index).split('\n').length + 1;
    const last = steps.at(-1);
    if (language === 'sh') steps.push({ line, script: text, prints: null });
    else if (language === 'text' && last?.prints === null) steps[steps.length - 1] = { ...last, prints: text };
    else throw new Error(`line ${line}: a block of ${language || 'no language'} is no step, and what no step prints`);
  }
  return steps;
}

/** The commands of a step, one each, without what is said about them. Those that go on over several lines are one. */
export const commandsOf = ({ script }: GuideStep): readonly string[] =>
  script
    .replace(/<<'?(\w+)'?(.*)\n[\s\S]*?^\1$/gm, '$2')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => line.replace(/(^| +)# .*$/, '').trim())
    .filter((line) => line !== '');

const LOOKS = /^kubectl( -n \S+)? (get|describe|logs|wait|rollout status|routedip (status|explain|journal))\b[^&;>]*$/;

/** Whether a step only looks, so that it may be repeated until it shows what the page shows. */
export const isLook = (step: GuideStep): boolean => commandsOf(step).every((command) => LOOKS.test(command));

/** What differs from one run to the next, by its form. */
const FORMS: readonly (readonly [form: RegExp, name: string])[] = [
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>'],
  [/(?<=-)[0-9a-f]{6,10}-[a-z0-9]{5}(?![a-z0-9])/g, '<pod>'],
  [/(?<![\w.])(\d+(ms|s|m|h|d))+\+?(?!\w)/g, '<age>'],
];

const plain = (text: string): readonly string[] =>
  FORMS.reduce((so, [form, name]) => so.replace(form, name), text)
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' ').trim())
    .filter((line) => line !== '');

/** Whether `printed` is what the page says: see above. */
export function agrees(prints: string, printed: string): boolean {
  const lines = plain(prints).map((line) => (line === '…' ? '(?:.*\n)*?' : `${line.split('…').map(RegExp.escape).join('.*')}\n`));
  const shown = plain(printed).map((line) => `${line}\n`);
  return new RegExp(`^${lines.join('')}$`).test(shown.join(''));
}
