const varint = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)]);

/** A length-delimited field: text, bytes, or a message made of the fields given. */
export const field = (number: number, content: string | Buffer | readonly Buffer[]): Buffer => {
  const data = typeof content === 'string' ? Buffer.from(content) : Buffer.isBuffer(content) ? content : Buffer.concat(content);
  return Buffer.concat([Buffer.from([...varint((number << 3) | 2), ...varint(data.length)]), data]);
};

/** A boolean field that is true. */
export const flag = (number: number): Buffer => Buffer.from([...varint(number << 3), 1]);
