import { done, type JobBody } from './body.ts';

/** Marks the node as a holder, in one try. The mark keeps Pods away, it does not make the address serve: a failover does not wait for one that cannot be put
 *  on, and what is missing is put on with the marks of all holders. */
export const elect: JobBody<'elect'> = async ({ input, writer }) => {
  const marked = await writer.markHolder(input.node.name, input.effect).then(
    () => true,
    () => false,
  );
  return done({ marked });
};
