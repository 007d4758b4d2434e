type Fields = Readonly<Record<string, unknown>>;

/** Label of a Namespace with the Pod security standard that its Pods must meet. */
export const ENFORCED_STANDARD = 'pod-security.kubernetes.io/enforce';

/** An arbitrary non-root user: any image that needs no specific user runs as it. */
const NOBODY = 65_532;

/** The fields that the Pod security standard `restricted` requires of a container, where neither it nor its Pod sets them; without them the Pod would be
 *  rejected. Values of the template are kept, even if they get it rejected. A template that sets `runAsNonRoot` has an image with its own numeric user, which is kept. */
export const restrictedContext = (pod: Fields, container: Fields): Fields => {
  const own = fieldsOf(container.securityContext);
  const said = { ...fieldsOf(pod.securityContext), ...own };
  return {
    allowPrivilegeEscalation: false,
    ...(said.runAsNonRoot === undefined && { runAsNonRoot: true, ...(said.runAsUser === undefined && { runAsUser: NOBODY }) }),
    ...(said.seccompProfile === undefined && { seccompProfile: { type: 'RuntimeDefault' } }),
    ...own,
    capabilities: { drop: ['ALL'], ...fieldsOf(own.capabilities) },
  };
};

/** Null counts as not set. */
const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null))
    : {};
