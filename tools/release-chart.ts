import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Document, parseDocument } from 'yaml';
import { listed } from './chart-metadata.ts';
import { changesIn, sectionOf } from './release-notes.ts';
import { ROOT } from './root.mjs';

/** Where a release is published. */
export interface Publication {
  /** `v1.2.3`. */
  readonly tag: string;
  /** Web address of the repository. */
  readonly home: string;
  /** Where its image is, such as `ghcr.io/example`. */
  readonly images: string;
  /** Where its chart is, such as `oci://ghcr.io/example/charts`. */
  readonly charts: string;
}

/** Replaces what is there. @throws Error when it is not: the page was changed, and what is published would lead nowhere */
const replaced = (text: string, found: string, by: string): string => {
  if (!text.includes(found)) throw new Error(`deploy/chart/README.md no longer says ${found}`);
  return text.replaceAll(found, by);
};

const publishedReadme = (text: string, { tag, home, charts }: Publication): string => {
  const chart = `${charts}/routedip-operator --version ${tag.slice(1)}`;
  return replaced(replaced(text, ' deploy/chart ', ` ${chart} `), '](../../', `](${home}/blob/${tag}/`);
};

const publishedMetadata = (chart: Document, { tag, home, images }: Publication, redis: string, changelog: string): void => {
  const version = tag.slice(1);
  const platforms = ['linux/amd64', 'linux/arm64'];
  const shown = {
    images: [
      { name: 'routedip-operator', image: `${images}/routedip-operator:${version}`, platforms },
      { name: 'redis', image: redis, platforms },
    ],
    links: [
      { name: 'support', url: `${home}/issues` },
      { name: 'documentation', url: `${home}/tree/${tag}/docs` },
      { name: 'security', url: `${home}/security/policy` },
    ],
    changes: changesIn(sectionOf(changelog, version)?.text ?? ''),
  };
  for (const [name, items] of Object.entries(shown)) {
    if (items.length === 0) throw new Error(`CHANGELOG.md lists no change of ${version}`);
    chart.setIn(['annotations', `artifacthub.io/${name}`], listed(items));
  }
  if (version.includes('-')) chart.setIn(['annotations', 'artifacthub.io/prerelease'], 'true');
  chart.set('home', home);
  chart.set('sources', [home]);
};

/** Writes the chart into a folder as it is published: its image, its links and its changes have addresses now. */
export const publishedChart = (folder: string, publication: Publication): void => {
  const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(dirname(folder), { recursive: true });
  cpSync(join(ROOT, 'deploy/chart'), folder, { recursive: true });
  const values = parseDocument(read('deploy/chart/values.yaml'));
  values.setIn(['image', 'registry'], publication.images);
  const runbooks = `${publication.home}/blob/${publication.tag}/docs`;
  values.setIn(['metrics', 'prometheusRule', 'runbookBaseUrl'], runbooks);
  const { registry, repository, tag } = values.toJS().redis.image;
  const chart = parseDocument(read('deploy/chart/Chart.yaml'));
  publishedMetadata(chart, publication, `${registry}/${repository}:${tag}`, read('CHANGELOG.md'));
  const defaults = { 'image.registry': publication.images, 'metrics.prometheusRule.runbookBaseUrl': runbooks };
  const readme = Object.entries(defaults).reduce(
    (text, [path, value]) => replaced(text, `| \`${path}\` | string | \`""\` |`, `| \`${path}\` | string | \`"${value}"\` |`),
    read('deploy/chart/README.md'),
  );
  writeFileSync(join(folder, 'values.yaml'), values.toString({ lineWidth: 0 }));
  writeFileSync(join(folder, 'Chart.yaml'), chart.toString({ lineWidth: 0 }));
  writeFileSync(join(folder, 'README.md'), publishedReadme(readme, publication));
};
