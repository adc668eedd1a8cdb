import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAllowances } from '../../../src/outside/connector/allowances.ts'
import { checkOutboundUrl } from '../../../src/outside/connector/check-url.ts'

const NONE = parseAllowances('')
const LOOPBACK = parseAllowances('127.0.0.0/8')

function reasonOf(text: string, allowances = NONE): string {
  const checked = checkOutboundUrl(text, allowances)
  return checked.ok ? 'ok' : checked.reason
}

test('accepts https to names and public addresses, on HTTP ports and unassigned ports', () => {
  for (const text of [
    'https://example.com/hook',
    'https://example.com:443/hook?a=b',
    'https://example.com:80/',
    'https://example.com:1024/',
    'https://example.com:65535/',
    'https://8.8.8.8/',
    'https://[2606:4700::1111]:8443/',
    'https://bücher.example/',
    'https://example.com./',
  ]) {
    const checked = checkOutboundUrl(text, NONE)
    assert.ok(checked.ok && !checked.allowedOnly, text)
  }
})

test('refuses 127.0.0.1 in every spelling that URLs allow', () => {
  for (const host of [
    ...[
      '127.0.0.1',
      '127.1',
      '127.0.1',
      '0x7f000001',
      '0x7f.1',
      '0x7F.0x0.0x0.0x1',
      '2130706433',
      '017700000001',
    ],
    ...[
      '0177.0.0.1',
      '0177.0.0.01',
      '127.0.0.1.',
      '127.1.',
      '１２７.０.０.１',
      '127。0。0。1',
      '①②⑦.0.0.1',
      '%31%32%37.0.0.1',
    ],
    ...[
      '[::1]',
      '[0:0:0:0:0:0:0:1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[::FFFF:7F00:0001]',
      '[::127.0.0.1]',
    ],
    ...['[64:ff9b::127.0.0.1]', '[2002:7f00:1::]', '0', '0.0.0.0', '[::]', '127.255.255.254'],
    ...['localhost', 'LOCALHOST', 'localhost.', 'a.localhost', 'a.b.localhost.', 'ｌocalhost', 'loc%61lhost'],
  ]) {
    for (const url of [`https://${host}/`, `https://${host}:8443/x`, `http://${host}/`]) {
      assert.equal(reasonOf(url), 'address', url)
    }
  }
})

test('inner networks and the metadata services of clouds are refused', () => {
  for (const host of [
    ...[
      '10.0.0.1',
      '172.31.255.255',
      '192.168.1.1',
      '169.254.169.254',
      '0xa9fea9fe',
      '2852039166',
      '100.100.100.200',
    ],
    ...[
      '192.0.0.192',
      '168.63.129.16',
      '[fd00:ec2::254]',
      '[fe80::1]',
      '[fec0::1]',
      '[64:ff9b::a9fe:a9fe]',
      '[::a9fe:a9fe]',
    ],
    ...[
      '[64:ff9b:1::1]',
      '[3fff::1]',
      '[5f00::1]',
      '198.18.0.1',
      '240.0.0.1',
      '255.255.255.255',
      '224.0.0.1',
    ],
  ]) {
    assert.equal(reasonOf(`https://${host}/`), 'address', host)
  }
})

test('each refusal has its reason', () => {
  const reasons = {
    'ftp://example.com/': 'scheme',
    'file:///etc/passwd': 'scheme',
    'javascript:alert(1)': 'scheme',
    'unix:/var/run/docker.sock': 'scheme',
    'https://user@example.com/': 'userinfo',
    'https://:password@example.com/': 'userinfo',
    'https://example.com/#': 'fragment',
    'https://example.com/#a': 'fragment',
    'https://example.com:22/': 'port',
    'https://example.com:25/': 'port',
    'https://example.com:1023/': 'port',
    'https://example.com:0/': 'port',
    'http://example.com/': 'insecure',
    'http://8.8.8.8/': 'insecure',
    'https://example.com:65536/': 'malformed',
    'example.com/hook': 'malformed',
    '//example.com/hook': 'malformed',
    'https://': 'malformed',
    'https://1.2.3.4.5/': 'malformed',
    'https://256.0.0.1/': 'malformed',
    'https://[::1%25eth0]/': 'malformed',
    ' https://example.com/': 'malformed',
    'https://example.com/\r\nHost: x': 'malformed',
    'https://exam\tple.com/': 'malformed',
    'https:\\\\example.com\\': 'malformed',
    'https://example.com\\@127.0.0.1/': 'malformed',
    '': 'malformed',
  }
  for (const [text, reason] of Object.entries(reasons)) assert.equal(reasonOf(text), reason, text)
})

test('a URL may have 2,048 characters and no more', () => {
  const longest = `https://example.com/${'a'.repeat(2_028)}`
  assert.equal(longest.length, 2_048)
  assert.equal(reasonOf(longest), 'ok')
  assert.equal(reasonOf(`${longest}a`), 'malformed')
})

test('an allowed address may be called by http and on any port', () => {
  for (const text of [
    'http://127.0.0.1:22/',
    'https://127.0.0.1:6379/',
    'http://0x7f000001/',
    'http://localhost:25/',
  ]) {
    assert.equal(reasonOf(text, LOOPBACK), 'ok', text)
  }
  assert.equal(reasonOf('http://[::1]/', LOOPBACK), 'address')
  assert.equal(reasonOf('http://10.0.0.1/', LOOPBACK), 'address')
  assert.equal(reasonOf('http://localhost/', parseAllowances('::1')), 'ok')
  assert.equal(reasonOf('http://8.8.8.8/', LOOPBACK), 'insecure')
})

test('a name with http or another protocol’s port is limited to allowed addresses', () => {
  for (const [text, allowedOnly] of [
    ['http://receiver.internal/', true],
    ['https://receiver.internal:25/', true],
    ['https://receiver.internal/', false],
  ] as const) {
    const checked = checkOutboundUrl(text, LOOPBACK)
    assert.ok(checked.ok && checked.allowedOnly === allowedOnly, text)
  }
})

test('a refusal names a remedy', () => {
  const detailOf = (text: string) => {
    const checked = checkOutboundUrl(text, NONE)
    return checked.ok ? null : checked.detail
  }
  assert.equal(
    detailOf('https://0x7f.1/'),
    '127.0.0.1 is not a public address: the operator can allow it with TALLYSTICK_OUTBOUND_ALLOW',
  )
  assert.equal(
    detailOf('http://example.com/'),
    'http: is only for addresses that the operator allows: use https:, or the operator can allow it with TALLYSTICK_OUTBOUND_ALLOW',
  )
  assert.equal(
    detailOf('https://example.com:22/'),
    'port 22 belongs to another protocol: use 443, 80, or a port from 1024 on',
  )
})
