import { registerHooks } from 'node:module';
import type * as library from '@kubernetes/client-node';

/** The module that reads configurations. It also imports two names from a module with the clients of all APIs, 25 MB of source that is not used here. */
const CONFIG = '/@kubernetes/client-node/dist/config.js';
const CLIENTS = './gen/index.js';
/** The two names by the module that defines them, below the same folder. */
const NAMES = { './gen/configuration.js': 'createConfiguration', './gen/servers.js': 'ServerConfiguration' };

/** If the layout of the library changes, all of it is loaded as usual. */
const hooks = registerHooks({
  resolve: (specifier, context, next) => {
    if (specifier !== CLIENTS || !context.parentURL?.endsWith(CONFIG)) return next(specifier, context);
    const exported = Object.entries(NAMES).map(([path, name]) => `export { ${name} } from '${next(path, context).url}';`);
    return { url: `data:text/javascript,${encodeURIComponent(exported.join(''))}`, format: 'module', shortCircuit: true };
  },
});
const config = await import('@kubernetes/client-node/dist/config.js').finally(() => hooks.deregister());

export const KubeConfig: typeof library.KubeConfig = config.KubeConfig;
export type KubeConfig = library.KubeConfig;
