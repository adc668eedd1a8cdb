import { mutateBytes } from '../../../helpers/mutate/bytes.ts'
import { mutateCbor } from '../../../helpers/mutate/cbor.ts'
import { changeTree, textOf } from '../../../helpers/mutate/json.ts'
import { pick, type Random } from '../../../helpers/mutate/random.ts'
import { changeText, encodeAny, NUMBERS } from '../../../helpers/mutate/text.ts'
import type { Made } from './case.ts'
import type { Case } from './cases.ts'
import { anyBase, anyEntry, checkpointOf, quoted, signerOf } from './chains.ts'
import { changeEntry, changeHead, envelopeOf, payloadBytes, statementPool } from './model.ts'
import { hostileNote, hostileVerifierKey, verifierKey, WITNESS_KEYS } from './notes.ts'

export function makeJson(random: Random): Made {
  const depth = pick(random, [4, 35, 64])
  if (random() < 0.004) return { ...longJson(random), trust: { depth } }
  const { payload, line } = anyEntry(random)
  const tree = payload instanceof Uint8Array || random() < 0.3 ? line : payload
  const hows = [changeTree(tree, random, statementPool())]
  while (random() < 0.5) hows.push(changeTree(tree, random, statementPool()))
  let text = textOf(tree)
  if (random() < 0.1) text = `{"n":[${Array.from({ length: 3 }, () => pick(random, NUMBERS)).join(',')}]}`
  if (random() < 0.15) text = changeText(text, random)
  const data = encodeAny(text)
  const isDamaged = random() < 0.1
  return {
    how: hows.join(', '),
    trust: { depth },
    parts: [isDamaged ? mutateBytes(data, random, data) : data],
  }
}

/** Returns a long JSON text, for which a bad parser needs more time than the text's length justifies. */
function longJson(random: Random): Pick<Case, 'how' | 'parts'> {
  const count = pick(random, [5_000, 20_000])
  const names = Array.from({ length: count }, (_, i) => `"${i}":0`).join(',')
  const [how, text] = pick(random, [
    ['a doubled member of many', `{${names},"${count - 1}":1}`],
    ['many members', `{${names}}`],
    ['many equal members', `{${'"a":1,'.repeat(count)}"a":1}`],
    ['deep', '['.repeat(count)],
    ['deep and closed', `${'['.repeat(count)}${']'.repeat(count)}`],
    ['escapes', `"${'\\u0061'.repeat(count)}"`],
    ['backslashes', `"${'\\\\'.repeat(count)}`],
    ['digits', '1'.repeat(count)],
    ['digits of a fraction', `0.${'1'.repeat(count)}`],
    ['digits of an exponent', `1e${'1'.repeat(count)}`],
    ['spaces', `${' '.repeat(count)}x`],
  ] as const)
  return { how, parts: [Buffer.from(text)] }
}

export function makeStatement(random: Random): Made {
  const { payload } = anyEntry(random)
  if (payload instanceof Uint8Array) return { how: 'payload', trust: {}, parts: [payload] }
  const hows = [changeTree(payload, random, statementPool())]
  while (random() < 0.2) hows.push(changeTree(payload, random, statementPool()))
  return { how: hows.join(', '), trust: {}, parts: [payloadBytes({ payload })] }
}

export function makeEnvelope(random: Random): Made {
  const entry = anyEntry(random)
  const kind = random()
  if (kind < 0.25) {
    const whole = envelopeOf(entry)
    return { how: 'CBOR', trust: {}, parts: [mutateCbor(whole, random, whole)] }
  }
  const how = kind < 0.75 ? changeHead(entry, random) : changeEntry(entry, random)
  return { how, trust: {}, parts: [envelopeOf(entry)] }
}

export function makeNote(random: Random): Made {
  const { chain } = anyBase(random)
  const [note, how] = hostileNote(checkpointOf(chain), signerOf(chain), random)
  const trust = { noteKey: verifierKey(chain.origin, signerOf(chain)), witnesses: WITNESS_KEYS }
  return { how, trust, parts: [quoted(note)] }
}

export function makeVerifierKey(random: Random): Made {
  const { chain } = anyBase(random)
  const name = pick(random, [chain.origin, 'w0.example/w'])
  const vkey = hostileVerifierKey(name, signerOf(chain), random)
  return { how: 'verifier key', trust: { alg: pick(random, ['1', '4']) }, parts: [quoted(vkey)] }
}
