import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import {
  classifyAddress,
  isPrivateAddress,
  parseAllowances,
} from '../../../src/outside/connector/allowances.ts'
import { runs } from '../../helpers/runs.ts'

const NONE = parseAllowances('')

/** IANA's special-purpose addresses, multicast, and ranges that were never assigned. */
const IPV4_NOT_PUBLIC = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24'],
  ...['192.168.0.0/16', '192.175.48.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4', '255.255.255.255/32', '168.63.129.16/32'],
]
const IPV6_NOT_PUBLIC = [
  ...['::/128', '::1/128', '::/96', '::ffff:0:0:0/96', '64:ff9b:1::/48', '100::/64', '100:0:0:1::/64'],
  ...['2001::/32', '2001::/23', '2001:2::/48', '2001:3::/32', '2001:4:112::/48', '2001:10::/28'],
  ...['2001:20::/28', '2001:30::/28', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'],
  ...['4000::/3', '5f00::/16', '8000::/1', 'fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8', '0400::/6'],
]

test('no special-purpose address of the registries is public, in any notation', () => {
  const ranges = [...IPV4_NOT_PUBLIC, ...IPV6_NOT_PUBLIC]
  const address = fc.constantFrom(...ranges).chain((range) => {
    const [network, bits] = ipaddr.parseCIDR(range)
    const bytes = network.toByteArray()
    return fc
      .uint8Array({ minLength: bytes.length, maxLength: bytes.length })
      .map((random) => bytes.map((byte, index) => byte | (random[index]! & hostMask(bits - index * 8))))
  })
  fc.assert(
    fc.property(address, (bytes) => {
      for (const spelling of spellingsOf(bytes)) {
        assert.equal(classifyAddress(spelling, NONE), 'refused', spelling)
        assert.equal(isPrivateAddress(spelling), true, spelling)
      }
    }),
    { numRuns: runs(5_000) },
  )
})

test('the first and the last address of each special range are refused, and their outer neighbours are not', () => {
  const neighbours = [
    '1.0.0.0',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
  ]
  neighbours.push(
    '128.0.0.0',
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '191.255.255.255',
  )
  neighbours.push('192.0.1.0', '192.0.3.0', '192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0')
  neighbours.push('198.51.99.255', '198.51.101.0', '203.0.112.255', '203.0.114.0', '223.255.255.255')
  neighbours.push('168.63.129.15', '168.63.129.17', '8.8.8.8')
  neighbours.push(
    '2000::',
    '2001:200::',
    '2001:db7:ffff::1',
    '2001:db9::',
    '2003::',
    '2606:4700::1111',
    '3ffe::1',
  )
  neighbours.push('3fff:1000::', '2620:4f:8001::')
  for (const ip of neighbours) assert.equal(classifyAddress(ip, NONE), 'public', ip)
  for (const range of IPV4_NOT_PUBLIC) {
    const last = ipaddr.IPv4.broadcastAddressFromCIDR(range).toString()
    for (const ip of [range.split('/')[0]!, last]) assert.equal(classifyAddress(ip, NONE), 'refused', ip)
  }
})

test('classifies IPv4-mapped and NAT64 addresses by their IPv4 address, and refuses other embeddings', () => {
  assert.equal(classifyAddress('::ffff:8.8.8.8', NONE), 'public')
  assert.equal(classifyAddress('64:ff9b::8.8.8.8', NONE), 'public')
  for (const ip of [
    '::ffff:10.0.0.1',
    '64:ff9b::10.0.0.1',
    '64:ff9b::a9fe:a9fe',
    '::ffff:7f00:1',
    '64:ff9b::',
  ]) {
    assert.equal(classifyAddress(ip, NONE), 'refused', ip)
  }
  // These addresses contain a public address: 6to4, Teredo, IPv4-compatible and IPv4-translated. They are refused,
  // because their relays no longer work.
  for (const ip of ['2002:0808:0808::1', '2001::8.8.8.8', '::8.8.8.8', '::ffff:0:808:808']) {
    assert.equal(classifyAddress(ip, NONE), 'refused', ip)
  }
})

test('refuses every address that the ipaddr library counts as special', () => {
  const anyAddress = fc.oneof(fc.ipV4(), fc.ipV6()).filter((ip) => {
    const address = ipaddr.process(ip)
    return address.range() !== 'unicast' && address.range() !== 'rfc6052'
  })
  fc.assert(
    fc.property(anyAddress, (ip) => classifyAddress(ip, NONE) === 'refused'),
    { numRuns: runs(2_000) },
  )
})

test('refuses text that is not an address, and addresses with a zone', () => {
  for (const text of [
    '',
    'localhost',
    '127.1',
    '0x7f000001',
    '8.8.8.8 ',
    '8.8.8.8/32',
    '010.8.8.8',
    '2606::1%eth0',
  ]) {
    assert.equal(classifyAddress(text, NONE), 'refused', text)
  }
})

test('an allowance permits its own range only', () => {
  const allowances = parseAllowances(' 10.1.0.0/16, 127.0.0.1 ,fd00:1::/32,8.8.8.0/24,')
  const classes = {
    '10.1.0.0': 'allowed',
    '10.1.255.255': 'allowed',
    '::ffff:10.1.2.3': 'allowed',
    '10.2.0.0': 'refused',
    '127.0.0.1': 'allowed',
    '127.0.0.2': 'refused',
    'fd00:1::5': 'allowed',
    'fd00:2::5': 'refused',
    '8.8.8.8': 'allowed',
    '8.8.4.4': 'public',
    // The address ends with 10.1.2.3, which is allowed. Behind a NAT64 translator that number may be another machine.
    '64:ff9b::10.1.2.3': 'refused',
  }
  for (const [ip, expected] of Object.entries(classes)) {
    assert.equal(classifyAddress(ip, allowances), expected, ip)
  }
  assert.equal(isPrivateAddress('10.1.0.1'), true)
  assert.equal(isPrivateAddress('8.8.8.8'), false)
})

test('0.0.0.0/0 or ::/0 allows a whole family', () => {
  assert.equal(classifyAddress('10.0.0.1', parseAllowances('0.0.0.0/0')), 'allowed')
  assert.equal(classifyAddress('::1', parseAllowances('0.0.0.0/0')), 'refused')
  assert.equal(classifyAddress('::1', parseAllowances('::/0')), 'allowed')
})

test('refuses a malformed allowance with its text and a remedy', () => {
  const faults: [text: string, message: RegExp][] = [
    ['10.0.0.0/8,localhost', /^localhost is neither an IP address nor a range like 10\.0\.0\.0\/8$/],
    ['10.0.0.0/33', /^10\.0\.0\.0\/33: the prefix has at most 32 bits$/],
    ['::/129', /::\/129/],
    ['10.0.0.0/', /10\.0\.0\.0\//],
    ['127.1', /127\.1/],
    ['0x7f000001', /0x7f000001/],
    ['fe80::1%eth0', /fe80::1%eth0/],
    ['10.1.2.3/8', /^10\.1\.2\.3\/8 is inside a range: write 10\.0\.0\.0\/8 or one address$/],
    ['fd00::1/8', /write fd00::\/8/],
    ['::ffff:10.0.0.0/104', /^::ffff:10\.0\.0\.0\/104: write it as IPv4$/],
    ['*', /\* is neither/],
  ]
  for (const [text, message] of faults) assert.throws(() => parseAllowances(text), { message }, text)
})

/** Returns one byte of a mask. The bits behind the prefix are ones. */
function hostMask(prefixBitsLeft: number): number {
  return prefixBitsLeft >= 8 ? 0 : prefixBitsLeft <= 0 ? 0xff : 0xff >> prefixBitsLeft
}

function spellingsOf(bytes: readonly number[]): string[] {
  const address = ipaddr.fromByteArray([...bytes])
  if (address instanceof ipaddr.IPv4) {
    const dotted = address.toString()
    const hex = Buffer.from(bytes).toString('hex')
    const groups = `${hex.slice(0, 4)}:${hex.slice(4)}`
    return [
      dotted,
      ...['::ffff:', '0:0:0:0:0:ffff:', '::FFFF:', '0000:0000:0000:0000:0000:FFFF:'].flatMap((prefix) => [
        `${prefix}${dotted}`,
        `${prefix}${groups}`,
      ]),
      `64:ff9b::${dotted}`,
      `64:ff9b::${groups}`,
      `0064:ff9b:0:0:0:0:${groups}`,
    ]
  }
  const full = [...Buffer.from(bytes).toString('hex').matchAll(/.{4}/g)].join(':')
  // inet_ntop writes addresses below ::/96 in this form.
  const dotted = `${full.slice(0, 30)}${bytes.slice(12).join('.')}`
  const short = bytes.slice(0, 12).every((byte) => byte === 0) ? [`::${bytes.slice(12).join('.')}`] : []
  return [address.toString(), address.toNormalizedString(), full, full.toUpperCase(), dotted, ...short]
}
