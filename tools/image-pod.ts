import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';

interface SecurityContext {
  readonly runAsNonRoot?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  readonly readOnlyRootFilesystem?: boolean;
  readonly capabilities?: { readonly drop?: readonly string[] };
  readonly seccompProfile?: { readonly type: string };
}

interface Container {
  readonly name: string;
  readonly args: readonly string[];
  readonly securityContext?: SecurityContext;
  readonly resources?: { readonly limits?: { readonly memory?: string } };
}

interface PodSpec {
  readonly securityContext?: SecurityContext;
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
}

/** Where Debian keeps the profile that container runtimes have as their own default. */
const PROFILE = '/usr/share/containers/seccomp.json';
/** A user that no image knows, in the group 0, as OpenShift chooses it. */
const ANY_USER = '1000680000:0';

/** One container of a Deployment, as podman is told to run it. */
export interface ShippedContainer {
  readonly args: readonly string[];
  /** Options of `podman run` that say the same as its security context and limits. */
  readonly options: readonly string[];
}

/** The containers of the Deployment in a manifest, those that come before the others first. @throws Error when a security setting is one that this does not know how to say */
export function shippedContainers(manifest: string): readonly ShippedContainer[] {
  const deployment = parseAllDocuments(readFileSync(manifest, 'utf8'))
    .map((document) => document.toJS() as { readonly kind: string; readonly spec: { readonly template: { readonly spec: PodSpec } } })
    .find(({ kind }) => kind === 'Deployment');
  if (!deployment) throw new Error(`there is no Deployment in ${manifest}`);
  const { securityContext, initContainers = [], containers } = deployment.spec.template.spec;
  return [...initContainers, ...containers].map((container) => ({
    args: container.args,
    options: optionsOf({ ...securityContext, ...container.securityContext }, container.resources?.limits?.memory),
  }));
}

function optionsOf(context: SecurityContext, memory: string | undefined): readonly string[] {
  const { runAsNonRoot, allowPrivilegeEscalation, readOnlyRootFilesystem, capabilities, seccompProfile, ...more } = context;
  const unknown = Object.keys(more);
  if (unknown.length > 0) throw new Error(`no option of podman is known for ${unknown.join(', ')} of a securityContext`);
  if (seccompProfile && seccompProfile.type !== 'RuntimeDefault') throw new Error(`unknown seccomp profile ${seccompProfile.type}`);
  return [
    ...(runAsNonRoot ? ['--user', ANY_USER] : []),
    ...(readOnlyRootFilesystem ? ['--read-only', '--read-only-tmpfs=false'] : []),
    ...(allowPrivilegeEscalation === false ? ['--security-opt', 'no-new-privileges'] : []),
    ...(capabilities?.drop ?? []).flatMap((each) => ['--cap-drop', each.toLowerCase()]),
    ...(seccompProfile ? ['--security-opt', `seccomp=${PROFILE}`] : []),
    ...(memory === undefined ? [] : ['--memory', memory.replace(/i$/, '').toLowerCase()]),
  ];
}
