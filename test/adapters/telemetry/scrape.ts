/** One sample of a scrape. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A metric as its comments and its samples show it. */
export interface ScrapedMetric {
  readonly name: string;
  /** `counter`, `gauge` or `histogram`. */
  readonly type: string;
  readonly samples: readonly Sample[];
}

const LINE = /^(?<name>[a-zA-Z_:][\w:]*)(?:\{(?<labels>.*)\})? (?<value>\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;
const ESCAPED: Readonly<Record<string, string>> = { n: '\n', '"': '"', '\\': '\\' };

const unescaped = (text: string): string => text.replace(/\\(.)/g, (_, char: string) => ESCAPED[char] ?? char);

function sampleOf(line: string): Sample {
  const { name = '', labels = '', value = '' } = LINE.exec(line)?.groups ?? {};
  if (name === '') throw new Error(`no sample: ${line}`);
  return {
    name,
    labels: Object.fromEntries([...labels.matchAll(LABEL)].map(([, label = '', text = '']) => [label, unescaped(text)])),
    value: value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value),
  };
}

/** The samples of a text in Prometheus's format. @throws Error at a line that is none */
export const samplesOf = (text: string): readonly Sample[] =>
  text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map(sampleOf);

/** The metrics of a text by name: a histogram's buckets, sum and count belong to it. @throws Error at a sample without a metric */
export function metricsOf(text: string): ReadonlyMap<string, ScrapedMetric> {
  const metrics = new Map<string, { name: string; type: string; samples: Sample[] }>();
  for (const [, name = '', type = ''] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) metrics.set(name, { name, type, samples: [] });
  for (const sample of samplesOf(text)) {
    const metric = metrics.get(sample.name) ?? metrics.get(sample.name.replace(/_(bucket|sum|count)$/, ''));
    if (!metric) throw new Error(`${sample.name} belongs to no metric`);
    metric.samples.push(sample);
  }
  return metrics;
}

/** Names of the labels that the samples of a metric bear, without the `le` of buckets. Sorted. */
export const labelsOf = ({ samples }: ScrapedMetric): readonly string[] =>
  [...new Set(samples.flatMap(({ labels }) => Object.keys(labels)))].filter((label) => label !== 'le').sort();
