const UPGRADE = 'Connection: Upgrade\r\nUpgrade: websocket';
const KEY = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';

/** What no client of ours sends, by what it is. */
export const GARBAGE: Readonly<Record<string, string>> = {
  'two slashes': 'GET // HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'a host instead of a path': 'GET //evil.example/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'half a URL': 'GET http://[ HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'a port that is none': 'GET http://a:99999999/ HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'a URL': 'GET http://localhost/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'a Host that is none': 'GET / HTTP/1.1\r\nHost: [::::]:::\r\n\r\n',
  'no Host': 'GET / HTTP/1.1\r\n\r\n',
  'a percent sign by itself': 'GET /%?token=%zz&id=%E0%A4%A HTTP/1.1\r\nHost: localhost\r\nCookie: routedip-token=%E0%A4%A\r\n\r\n',
  'an upgrade to nothing': `GET / HTTP/1.1\r\nHost: localhost\r\n${UPGRADE}\r\n\r\n`,
  'an upgrade of two slashes': `GET // HTTP/1.1\r\nHost: localhost\r\n${UPGRADE}\r\n${KEY}\r\n\r\n`,
  'an upgrade of another path': `GET /about HTTP/1.1\r\nHost: localhost\r\n${UPGRADE}\r\n${KEY}\r\n\r\n`,
  'an upgrade without a key': `GET /ws HTTP/1.1\r\nHost: localhost\r\n${UPGRADE}\r\n\r\n`,
  'an upgrade by POST': `POST /ws HTTP/1.1\r\nHost: localhost\r\n${UPGRADE}\r\n${KEY}\r\n\r\n`,
  'an upgrade to another protocol': 'GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n',
  'frames that are none': `GET /ws HTTP/1.1\r\nHost: localhost\r\n${UPGRADE}\r\n${KEY}\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff`,
  CONNECT: 'CONNECT localhost:443 HTTP/1.1\r\nHost: localhost\r\n\r\n',
  TRACE: 'TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'OPTIONS *': 'OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'a method that is none': 'BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'huge headers': `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`,
  'a huge path': `GET /${'x'.repeat(100_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
  'two lengths': 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx',
  'chunks that are none': 'POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
  'an expectation': 'POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 42\r\n\r\n',
  'no HTTP': '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03',
  'a hundred at once': 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(100),
};
