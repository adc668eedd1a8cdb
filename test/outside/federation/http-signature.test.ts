import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { createSigner, createVerifier, httpbis } from 'http-message-signatures'
import {
  isWithinWindow,
  makeSignatureBase,
  parseRequestSignature,
  type RequestHeaders,
  RequestSignatureError,
  type RequestSignatureErrorCode,
  signRequest,
  verifyContentDigest,
  verifyRequestSignature,
} from '../../../src/outside/federation/http-signature.ts'
import { PEER_CLOCK_WINDOW_MS } from '../../../src/outside/federation/limits.ts'
import { fromBase64, fromBase64Url, toBase64, toHex } from '../../../src/proof/bytes.ts'
import { formatIdBytes } from '../../../src/proof/ids.ts'
import { makeEd25519Signer, nativeProviders } from '../../../src/signing/native.ts'
import { codePoint } from '../../helpers/code-points.ts'
import { makeEs256Signer } from '../../helpers/es256.ts'
import { runs } from '../../helpers/runs.ts'

const { sha256, verifySignature } = nativeProviders
const SEED = new Uint8Array(32).fill(7)
const signer = makeEd25519Signer(sha256, SEED)
const NOW_MS = 1_795_000_000_123
const NONCE = Uint8Array.from({ length: 16 }, (_, i) => i)
const TARGET = { method: 'POST', targetUri: 'https://ledger.example/v1/federation/entries' }
const REQUEST = {
  ...TARGET,
  body: '{"entries":[]}',
  peering: formatIdBytes('peer', new Uint8Array(16).fill(1)),
  from: formatIdBytes('led', new Uint8Array(16).fill(2)),
  to: formatIdBytes('led', new Uint8Array(16).fill(3)),
}
const HEADERS = signRequest(REQUEST, signer, { nowMs: NOW_MS, nonce: NONCE })
const HEADER_NAMES = Object.keys(HEADERS)

function refuses(code: RequestSignatureErrorCode, headers: RequestHeaders, target = TARGET): void {
  assert.throws(
    () => parseRequestSignature(headers, target),
    (error) => error instanceof RequestSignatureError && error.code === code,
    JSON.stringify(headers),
  )
}

/** Returns true if the headers can be parsed, if our key signed them, and if they match the body. */
function isGood(headers: RequestHeaders, body: string | Uint8Array = REQUEST.body, target = TARGET): boolean {
  const parsed = parseRequestSignature(headers, target)
  return verifyRequestSignature(parsed, signer.key, verifySignature) && verifyContentDigest(parsed, body)
}

const someText = (maxLength: number) => fc.string({ unit: codePoint, maxLength })

describe('a signed request', () => {
  test('has these six headers and no others', () => {
    assert.deepEqual(HEADERS, {
      'content-digest': `sha-256=:${toBase64(sha256(Buffer.from(REQUEST.body)))}:`,
      'tallystick-peering': REQUEST.peering,
      'tallystick-from': REQUEST.from,
      'tallystick-to': REQUEST.to,
      'signature-input':
        'tallystick=("@method" "@target-uri" "content-digest" "tallystick-peering" "tallystick-from" "tallystick-to")' +
        `;created=1795000000;nonce="AAECAwQFBgcICQoLDA0ODw";keyid="${toHex(signer.kid)}";alg="ed25519";tag="tallystick-federation-v1"`,
      signature: HEADERS['signature'],
    })
    assert.match(HEADERS['signature']!, /^tallystick=:[\w+/]{86}==:$/)
  })

  test('verifies as it was signed', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        fc.uint8Array({ minLength: 16, maxLength: 16 }),
        fc.tuple(...Array.from({ length: 3 }, () => fc.uint8Array({ minLength: 16, maxLength: 16 }))),
        fc.integer({ min: 1_000_000_000_000, max: 9_999_999_999_999 }),
        fc.webUrl({ withQueryParameters: true }),
        (body, nonce, [peering, from, to], nowMs, targetUri) => {
          const given = {
            method: 'POST',
            targetUri,
            body,
            peering: formatIdBytes('peer', peering!),
            from: formatIdBytes('led', from!),
            to: formatIdBytes('led', to!),
          }
          const headers = signRequest(given, signer, { nowMs, nonce })
          const parsed = parseRequestSignature(headers, { method: 'POST', targetUri })
          const { base, signature, contentDigest, ...rest } = parsed
          assert.deepEqual(
            { ...rest, nonce: toHex(rest.nonce) },
            {
              peering: given.peering,
              from: given.from,
              to: given.to,
              keyid: toHex(signer.kid),
              createdMs: Math.floor(nowMs / 1000) * 1000,
              nonce: toHex(nonce),
            },
          )
          assert.deepEqual([base.length > 0, signature.length, contentDigest.length], [true, 64, 32])
          assert.ok(isGood(headers, body, { method: 'POST', targetUri }))
        },
      ),
    )
  })

  test('signing throws for values that a receiver would refuse', () => {
    const at = { nowMs: NOW_MS, nonce: NONCE }
    for (const change of [
      { peering: REQUEST.from },
      { from: 'led_x' },
      { to: `${REQUEST.to} ` },
      { method: 'post' },
      { targetUri: 'https://ledger.example/\n"@method": GET' },
    ])
      assert.throws(() => signRequest({ ...REQUEST, ...change }, signer, at), RequestSignatureError)
    for (const bad of [
      { nonce: NONCE.subarray(1) },
      { nonce: new Uint8Array(17) },
      { nowMs: 999_999_999_999 },
    ])
      assert.throws(() => signRequest(REQUEST, signer, { ...at, ...bad }), RequestSignatureError)
  })

  test('signing throws for a key of another algorithm', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const es256 = makeEs256Signer(privateKey.export({ format: 'der', type: 'pkcs8' }))
    assert.throws(() => signRequest(REQUEST, es256, { nowMs: NOW_MS, nonce: NONCE }), TypeError)
    const parsed = parseRequestSignature(HEADERS, TARGET)
    assert.equal(
      verifyRequestSignature({ ...parsed, signature: es256.sign(parsed.base) }, es256.key, verifySignature),
      false,
    )
  })
})

describe('the signature covers', () => {
  test('method and address: invalid for another server', () => {
    assert.ok(isGood(HEADERS))
    for (const target of [
      { ...TARGET, method: 'PUT' },
      { ...TARGET, targetUri: 'https://other.example/v1/federation/entries' },
      { ...TARGET, targetUri: 'http://ledger.example/v1/federation/entries' },
      { ...TARGET, targetUri: 'https://ledger.example:443/v1/federation/entries' },
      { ...TARGET, targetUri: `${TARGET.targetUri}?` },
      { ...TARGET, targetUri: `${TARGET.targetUri}/` },
      { ...TARGET, targetUri: 'https://ledger.example/v1/federation/summary' },
    ])
      assert.equal(isGood(HEADERS, REQUEST.body, target), false, JSON.stringify(target))
  })

  test('peering, sender, receiver, body, time, nonce and key', () => {
    const others = [
      signRequest({ ...REQUEST, peering: formatIdBytes('peer', new Uint8Array(16).fill(9)) }, signer, {
        nowMs: NOW_MS,
        nonce: NONCE,
      }),
      signRequest({ ...REQUEST, from: REQUEST.to }, signer, { nowMs: NOW_MS, nonce: NONCE }),
      signRequest({ ...REQUEST, to: REQUEST.from }, signer, { nowMs: NOW_MS, nonce: NONCE }),
      signRequest({ ...REQUEST, body: '{"entries":[ ]}' }, signer, { nowMs: NOW_MS, nonce: NONCE }),
      signRequest(REQUEST, signer, { nowMs: NOW_MS + 1000, nonce: NONCE }),
      signRequest(REQUEST, signer, { nowMs: NOW_MS, nonce: new Uint8Array(16).fill(9) }),
      signRequest(REQUEST, makeEd25519Signer(sha256, new Uint8Array(32).fill(8)), {
        nowMs: NOW_MS,
        nonce: NONCE,
      }),
    ]
    for (const other of others) {
      const [changed, ...rest] = HEADER_NAMES.filter(
        (name) => name !== 'signature' && other[name] !== HEADERS[name],
      )
      assert.deepEqual(rest, [])
      assert.equal(isGood({ ...HEADERS, [changed!]: other[changed!] }), false, changed)
    }
  })

  test('no further headers, such as those of a proxy', () => {
    assert.ok(
      isGood({ ...HEADERS, host: 'elsewhere.example', 'x-forwarded-for': '192.0.2.1', date: 'never' }),
    )
  })

  test('a different body has a different digest', () => {
    const parsed = parseRequestSignature(HEADERS, TARGET)
    assert.ok(verifyContentDigest(parsed, Buffer.from(REQUEST.body)))
    for (const body of ['', `${REQUEST.body}\n`, REQUEST.body.slice(1)])
      assert.equal(verifyContentDigest(parsed, body), false)
  })
})

describe('refuses', () => {
  test('a missing or malformed peering, sender or receiver, first of all, with peer_unknown', () => {
    for (const name of ['tallystick-peering', 'tallystick-from', 'tallystick-to']) {
      for (const value of [
        undefined,
        '',
        'peer_',
        `${HEADERS[name]} `,
        HEADERS[name]!.toUpperCase(),
        [HEADERS[name]!],
      ])
        refuses('peer_unknown', { ...HEADERS, signature: 'bad', [name]: value })
      refuses('peer_unknown', { ...HEADERS, [name]: `${HEADERS[name]}, ${HEADERS[name]}` })
    }
    refuses('peer_unknown', { ...HEADERS, 'tallystick-from': REQUEST.peering })
    refuses('peer_unknown', {})
  })

  test('missing, doubled or list-valued signature headers with signature_malformed', () => {
    for (const name of ['content-digest', 'signature-input', 'signature']) {
      refuses('signature_malformed', { ...HEADERS, [name]: undefined })
      refuses('signature_malformed', { ...HEADERS, [name]: '' })
      refuses('signature_malformed', { ...HEADERS, [name]: [HEADERS[name]!] })
      refuses('signature_malformed', { ...HEADERS, [name]: `${HEADERS[name]}, ${HEADERS[name]}` })
    }
  })

  const input = HEADERS['signature-input']!
  const INPUTS: Record<string, string> = {
    'another label': input.replace('tallystick=', 'sig1='),
    'a second label': `${input}, sig1=${input.slice('tallystick='.length)}`,
    'a second label before it': `sig1=(), ${input}`,
    'a component less': input.replace(' "content-digest"', ''),
    'a component more': input.replace('"tallystick-to")', '"tallystick-to" "date")'),
    'a component twice': input.replace('"@method"', '"@method" "@method"'),
    'another order': input.replace('"@method" "@target-uri"', '"@target-uri" "@method"'),
    'no component': input.replace(/\(.*\)/, '()'),
    'a component with a parameter': input.replace('"content-digest"', '"content-digest";sf'),
    'a component in upper case': input.replace('"content-digest"', '"Content-Digest"'),
    'two spaces': input.replace('" "', '"  "'),
    'a tab': input.replace('" "', '"\t"'),
    'a space before a parameter': input.replace(';nonce', '; nonce'),
    'a space at its end': `${input} `,
    'a space at its beginning': ` ${input}`,
    'a line feed at its end': `${input}\n`,
    'parameters in another order': input.replace(/(;created=\d+)(;nonce="[^"]+")/, '$2$1'),
    'a parameter more': `${input};expires=1795000300`,
    'a parameter twice': input.replace(';alg', ';created=1795000001;alg'),
    'no time': input.replace(/;created=\d+/, ''),
    'no nonce': input.replace(/;nonce="[^"]+"/, ''),
    'no key': input.replace(/;keyid="[^"]+"/, ''),
    'no algorithm': input.replace(';alg="ed25519"', ''),
    'another algorithm': input.replace('"ed25519"', '"hmac-sha256"'),
    'an algorithm in upper case': input.replace('"ed25519"', '"Ed25519"'),
    'an algorithm that is a token': input.replace('"ed25519"', 'ed25519'),
    'no tag': input.replace(/;tag="[^"]+"/, ''),
    'another tag': input.replace('federation-v1', 'federation-v2'),
    'a time that is a string': input.replace('1795000000', '"1795000000"'),
    'a time with a zero before it': input.replace('1795000000', '01795000000'),
    'a time with a sign': input.replace('1795000000', '+1795000000'),
    'a negative time': input.replace('1795000000', '-1795000000'),
    'a decimal': input.replace('1795000000', '1795000000.0'),
    'a time in milliseconds': input.replace('1795000000', '1795000000000'),
    'digits of another script': input.replace('1795000000', '１７９５００００００'),
    'a nonce of 15 bytes': input.replace('AAECAwQFBgcICQoLDA0ODw', 'AAECAwQFBgcICQoLDA0O'),
    'a nonce with padding': input.replace('ODw"', 'ODw=="'),
    'a nonce whose last bits are not zero': input.replace('ODw"', 'ODx"'),
    'a nonce in the other base64': input.replace('AAECAw', 'AA+/Aw'),
    'a nonce with an escape': input.replace('AAECAw', '\\"ECAw'),
    'a key id in upper case': input.replace(toHex(signer.kid), toHex(signer.kid).toUpperCase()),
    'a key id that is too short': input.replace(toHex(signer.kid), toHex(signer.kid).slice(2)),
    'a Unicode space': input.replace('" "', '"\u00a0"'),
    'a letter that folds to another': input
      .replace('"@method"', '"@met\u212bod"')
      .replace('keyid', '\u212aeyid'),
  }
  for (const [what, text] of Object.entries(INPUTS))
    test(`Signature-Input with ${what}`, () => {
      assert.notEqual(text, input)
      refuses('signature_malformed', { ...HEADERS, 'signature-input': text })
    })

  const BYTES = { 'content-digest': 'sha-256', signature: 'tallystick' }
  for (const [name, key] of Object.entries(BYTES))
    test(`${name} that is not a byte sequence of its length in canonical base64`, () => {
      const value = HEADERS[name]!
      const base64 = value.slice(key.length + 2, -1)
      const bytes = fromBase64(base64)
      const texts = [
        `sig1=:${base64}:`,
        `${key.toUpperCase()}=:${base64}:`,
        `${key}="${base64}"`,
        `${key}=${base64}`,
        `${key}=:${base64}`,
        `${key}=:${base64};`,
        `${key}=:${base64}:;x`,
        `${key}=: ${base64}:`,
        `${key} =:${base64}:`,
        ` ${value}`,
        `${value} `,
        `${value}\n`,
        `${key}=::`,
        `${key}=:`,
        `${key}=:${base64.replace(/=+$/, '')}:`,
        `${key}=:${toBase64(bytes.subarray(1))}:`,
        `${key}=:${toBase64(Buffer.concat([bytes, Buffer.alloc(1)]))}:`,
        `${key}=:${base64.slice(0, 4)}\n${base64.slice(4)}:`,
        `${key}=:${base64.replace(/.=/, (end) => (end === 'A=' ? 'B=' : `${String.fromCharCode(end.charCodeAt(0) + 1)}=`))}:`,
        `sha-512=:${toBase64(new Uint8Array(64))}:`,
        `sha-512=:${toBase64(new Uint8Array(64))}:, ${value}`,
        `${value}, sha-512=:${toBase64(new Uint8Array(64))}:`,
      ]
      for (const text of texts) refuses('signature_malformed', { ...HEADERS, [name]: text })
    })

  test('a method or address that could inject a line into the signature base', () => {
    refuses('signature_malformed', HEADERS, { ...TARGET, method: 'POST\n"x": y' })
    for (const end of ['\n"@method": GET', '\r', ' ', '\u0000', '\u00e9', '\u2028'])
      refuses('signature_malformed', HEADERS, { ...TARGET, targetUri: TARGET.targetUri + end })
    refuses('signature_malformed', HEADERS, { ...TARGET, targetUri: '' })
  })

  const edits = fc.tuple(fc.constantFrom(...HEADER_NAMES), fc.nat(400), fc.nat(40), someText(12))
  test('headers with any single edit, as malformed or as not signed', () => {
    const numRuns = runs(3_000)
    let refused = 0
    fc.assert(
      fc.property(edits, ([name, at, length, text]) => {
        const value = HEADERS[name]!
        const start = at % (value.length + 1)
        const changed = value.slice(0, start) + text + value.slice(start + length)
        const headers = { ...HEADERS, [name]: changed }
        if (changed === value) return assert.ok(isGood(headers))
        try {
          assert.equal(isGood(headers), false, `${name}: ${changed}`)
        } catch (error) {
          if (!(error instanceof RequestSignatureError)) throw error
          refused++
        }
      }),
      { numRuns },
    )
    assert.ok(refused > numRuns / 2, `${refused}`)
  })

  test('random headers, always with a RequestSignatureError', () => {
    const values = fc.oneof(someText(80), fc.constant(undefined), fc.constantFrom(...Object.values(HEADERS)))
    const headers = fc.record(Object.fromEntries(HEADER_NAMES.map((name) => [name, values])))
    fc.assert(
      fc.property(headers, (given) => {
        if (HEADER_NAMES.every((name) => given[name] === HEADERS[name])) return
        try {
          assert.equal(isGood(given), false)
        } catch (error) {
          assert.ok(error instanceof RequestSignatureError, `${error}`)
        }
      }),
      { numRuns: runs(2_000) },
    )
  })
})

test('requests more than a minute old or early', () => {
  const createdMs = 1_795_000_000_000
  assert.equal(PEER_CLOCK_WINDOW_MS, 60_000)
  for (const offMs of [-60_000, -1, 0, 1, 60_000]) assert.ok(isWithinWindow(createdMs, createdMs + offMs))
  for (const offMs of [-60_001, 60_001, Number.NaN])
    assert.equal(isWithinWindow(createdMs, createdMs + offMs), false)
})

describe('over a real connection', () => {
  type Header = readonly [name: string, value: string]
  const good = Object.entries(HEADERS)

  /** Sends the headers and returns them as a server receives them, with duplicates joined as in src/http/app.ts. */
  async function received(headers: readonly Header[]): Promise<IncomingHttpHeaders> {
    const server = createServer({ joinDuplicateHeaders: true }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const arrived = once(server, 'request')
    const { port } = server.address() as AddressInfo
    const asked = request({
      host: '127.0.0.1',
      port,
      method: 'POST',
      headers: [['host', 'x'], ...headers].flat(),
    })
    asked.on('error', () => {})
    asked.end()
    const [incoming] = await arrived
    asked.destroy()
    server.close()
    return incoming.headers
  }

  test('header names in any case, and spaces around values, verify', async () => {
    assert.ok(
      isGood(await received(good.map(([name, value]) => [name.toUpperCase(), `  ${value}\t`] as const))),
    )
  })

  test('any header twice is refused, also with the same value', async () => {
    for (const [name, value] of good) {
      const code = name.startsWith('tallystick-') ? 'peer_unknown' : 'signature_malformed'
      refuses(code, await received([...good, [name, value]]))
      refuses(code, await received([[name, ''], ...good]))
    }
  })
})

describe('with the package http-message-signatures', () => {
  const privateKey = createPrivateKey({
    key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), SEED]),
    format: 'der',
    type: 'pkcs8',
  })
  const publicKey = createPublicKey(privateKey)
  const fields = [
    '@method',
    '@target-uri',
    'content-digest',
    'tallystick-peering',
    'tallystick-from',
    'tallystick-to',
  ]
  const params = ['created', 'nonce', 'keyid', 'alg', 'tag']
  const verifierOf = (headers: Record<string, string>) => ({
    method: 'POST',
    url: TARGET.targetUri,
    headers,
  })
  const lookup = {
    keyLookup: async ({ keyid }: { keyid?: string }) =>
      keyid === toHex(signer.kid)
        ? { id: keyid, algs: ['ed25519'], verify: createVerifier(publicKey, 'ed25519') }
        : null,
    requiredFields: fields,
    requiredParams: params,
    notAfter: Math.floor(NOW_MS / 1000),
    tolerance: 1e9,
  }

  test('the package verifies our signature', async () => {
    assert.equal(await httpbis.verifyMessage(lookup, verifierOf(HEADERS)), true)
    const other = { ...HEADERS, 'tallystick-to': REQUEST.from }
    assert.equal(await httpbis.verifyMessage(lookup, verifierOf(other)), false)
  })

  test('we verify the package’s signature', async () => {
    const { signature, 'signature-input': _, ...unsigned } = HEADERS
    const signed = await httpbis.signMessage(
      {
        key: createSigner(privateKey, 'ed25519', toHex(signer.kid)),
        name: 'tallystick',
        fields,
        params,
        paramValues: {
          created: new Date(NOW_MS),
          nonce: 'AAECAwQFBgcICQoLDA0ODw',
          tag: 'tallystick-federation-v1',
        },
      },
      { method: 'POST', url: TARGET.targetUri, headers: unsigned },
    )
    const headers = Object.fromEntries(
      Object.entries(signed.headers).map(([name, value]) => [name.toLowerCase(), value]),
    )
    assert.ok(isGood(headers))
    assert.equal(headers['signature'], signature)
  })
})

describe('RFC 9421, appendix B.2.6', () => {
  const key = makeEd25519Signer(sha256, fromBase64Url('n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU'))

  test('the signature base matches the signature of the RFC', () => {
    assert.deepEqual(
      Buffer.from(key.key.raw),
      Buffer.from('JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs', 'base64url'),
    )
    const base = makeSignatureBase(
      [
        ['date', 'Tue, 20 Apr 2021 02:07:55 GMT'],
        ['@method', 'POST'],
        ['@path', '/foo'],
        ['@authority', 'example.com'],
        ['content-type', 'application/json'],
        ['content-length', '18'],
      ],
      '("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"',
    )
    assert.equal(
      toBase64(key.sign(base)),
      'wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==',
    )
  })
})
