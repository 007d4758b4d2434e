import { badRequest, unsupportedMediaType } from '../errors.ts';
import type { Json, JsonObject } from '../objects.ts';
import { type FieldType, MESSAGES, type MessageField } from './messages.ts';

/** What precedes every protobuf body of the Kubernetes API. */
const MAGIC = Buffer.from([0x6b, 0x38, 0x73, 0x00]);

const VARINT = 0;
const BYTES = 2;

interface RawField {
  number: number;
  /** The value of a varint. */
  integer: bigint;
  /** The content of a length-delimited field. */
  bytes: Buffer;
}

const NOTHING = Buffer.alloc(0);

/** The fields of one message, in the order they come. @throws ApiError 400 for what is no protobuf. */
const fieldsOf = (data: Buffer): RawField[] => {
  const fields: RawField[] = [];
  let offset = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = data[offset++];
      if (byte === undefined) break;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
    throw badRequest('unexpected end of a protobuf body');
  };
  while (offset < data.length) {
    const tag = Number(varint());
    const number = tag >>> 3;
    if ((tag & 7) === VARINT) fields.push({ number, integer: varint(), bytes: NOTHING });
    else if ((tag & 7) === BYTES) {
      const length = Number(varint());
      fields.push({ number, integer: 0n, bytes: data.subarray(offset, offset + length) });
      offset += length;
    } else throw badRequest('a protobuf body has a field of an unknown wire type');
  }
  return fields;
};

const timeOf = (bytes: Buffer): string | undefined => {
  const fields = fieldsOf(bytes);
  const seconds = fields.find(({ number }) => number === 1)?.integer;
  return seconds === undefined ? undefined : `${new Date(Number(seconds) * 1000).toISOString().slice(0, 19)}Z`;
};

const intOrStringOf = (bytes: Buffer): Json | undefined => {
  const fields = fieldsOf(bytes);
  const find = (wanted: number): RawField | undefined => fields.find(({ number }) => number === wanted);
  if (find(1)?.integer === 1n) return find(3)?.bytes.toString();
  const value = Number(find(2)?.integer ?? 0n);
  return value === 0 ? undefined : value;
};

const entryOf = (bytes: Buffer, type: FieldType): JsonObject => {
  const fields = fieldsOf(bytes);
  const key = fields.find(({ number }) => number === 1)?.bytes.toString() ?? '';
  const value = fields.find(({ number }) => number === 2)?.bytes ?? NOTHING;
  return { [key]: value.toString(type === 'map bytes' ? 'base64' : 'utf8') };
};

/** The JSON of one field; undefined for what JSON leaves out. */
const jsonOf = (type: FieldType, { integer, bytes }: RawField): Json | undefined => {
  switch (type) {
    case 'string':
      return bytes.length === 0 ? undefined : bytes.toString();
    case 'int':
      return integer === 0n ? undefined : Number(integer);
    case 'optional int':
      return Number(integer);
    case 'bool':
      return integer !== 0n;
    case 'bytes':
      return bytes.toString('base64');
    case 'time':
      return timeOf(bytes);
    case 'intOrString':
      return intOrStringOf(bytes);
    case 'map string':
    case 'map bytes':
      return entryOf(bytes, type);
    default:
      return messageOf(type, bytes);
  }
};

const put = (object: JsonObject, field: MessageField, value: Json): void => {
  const present = object[field.name];
  if (field.repeated) object[field.name] = [...(Array.isArray(present) ? present : []), value];
  else if (field.type === 'map string' || field.type === 'map bytes') {
    object[field.name] = { ...(present as JsonObject | undefined), ...(value as JsonObject) };
  } else object[field.name] = value;
};

const messageOf = (name: string, bytes: Buffer): JsonObject => {
  const object: JsonObject = {};
  for (const raw of fieldsOf(bytes)) {
    const field = MESSAGES[name]?.[raw.number];
    // In a list an empty text is a member: the group of the kinds of v1.
    const value = field && (jsonOf(field.type, raw) ?? (field.repeated && field.type === 'string' ? '' : undefined));
    if (field && value !== undefined) put(object, field, value);
  }
  return object;
};

/** The object in a protobuf body. @throws ApiError 400 when it is broken, 415 for a kind whose messages are not known here: kubectl sends those as JSON from a file. */
export const decodeProtobuf = (body: Buffer): JsonObject => {
  if (!body.subarray(0, 4).equals(MAGIC)) throw badRequest('provided data does not appear to be a protobuf message');
  const envelope = fieldsOf(body.subarray(4));
  const part = (wanted: number): Buffer => envelope.find(({ number }) => number === wanted)?.bytes ?? NOTHING;
  const [apiVersion = '', kind = ''] = [1, 2].map(
    (wanted) =>
      fieldsOf(part(1))
        .find(({ number }) => number === wanted)
        ?.bytes.toString() ?? '',
  );
  if (!MESSAGES[kind]) throw unsupportedMediaType(['application/json', 'application/yaml']);
  return { apiVersion, kind, ...messageOf(kind, part(2)) };
};
