import { concat, toBase64, toHex } from '../../../../src/proof/bytes.ts'
import {
  type Checkpoint,
  formatCheckpoint,
  formatVerifierKey,
} from '../../../../src/proof/tree/checkpoint.ts'
import { formatNoteKey, keyIdOf, NOTE_TYPES } from '../../../../src/proof/tree/note.ts'
import { below, pick, type Random } from '../../../helpers/mutate/random.ts'
import {
  changeText,
  encodeAny,
  INTEGERS,
  NUMBERS,
  pickLength,
  pickPoint,
} from '../../../helpers/mutate/text.ts'
import { sha256, type TestSigner } from '../../../helpers/test-chain.ts'
import { seededSigner } from './ledgers.ts'

/*
 * Makes checkpoints, honest or changed, that the log's key has signed. They also have lines of witnesses and of unknown
 * keys.
 */

const WITNESSES = [0, 1].map((i) => ({ name: `w${i}.example/w`, signer: seededSigner(120 + i) }))
export const WITNESS_KEYS = WITNESSES.map(({ name, signer }) =>
  formatNoteKey(name, 'cosignature', signer.key.raw, sha256),
)

export const verifierKey = (origin: string, signer: TestSigner): string =>
  formatVerifierKey(origin, signer.key.raw, sha256)

const bigEndian = (value: bigint): Uint8Array => {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, BigInt.asUintN(64, value))
  return bytes
}

const line = (name: string, id: Uint8Array, signature: Uint8Array) =>
  `\u2014 ${name} ${toBase64(concat([id, signature]))}\n`

function logLine(text: string, name: string, signer: TestSigner): string {
  const id = keyIdOf(sha256, name, concat([Uint8Array.of(NOTE_TYPES.signature), signer.key.raw]))
  return line(name, id, signer.sign(encodeAny(text)))
}

/** Returns the cosignature line of a witness, which also signs the line's time. */
function witnessLine(text: string, at: number, time: bigint, tail = new Uint8Array(0)): string {
  const { name, signer } = WITNESSES[at]!
  const id = keyIdOf(sha256, name, concat([Uint8Array.of(NOTE_TYPES.cosignature), signer.key.raw]))
  const signature = signer.sign(encodeAny(`cosignature/v1\ntime ${time}\n${text}`))
  return line(name, id, concat([bigEndian(time), signature, tail]))
}

const TIME = 1_700_000_000n

export function honestNote(
  checkpoint: Checkpoint,
  signer: TestSigner,
  witnesses: readonly number[] = [],
): string {
  const text = formatCheckpoint(checkpoint)
  return `${text}\n${logLine(text, checkpoint.origin, signer)}${witnesses.map((at) => witnessLine(text, at, TIME)).join('')}`
}

/** Changes one or two things in a note. If the text is changed, it is signed again. */
export function hostileNote(
  checkpoint: Checkpoint,
  signer: TestSigner,
  random: Random,
): [note: string, how: string] {
  let text = formatCheckpoint(checkpoint)
  const hows: string[] = []
  if (random() < 0.3) {
    const [changed, how] = hostileText(text, checkpoint, random)
    text = changed
    hows.push(how)
  }
  // The signer's name is either the name in the changed text or the checkpoint's own name.
  const name = random() < 0.5 ? (text.split('\n')[0] ?? '') : checkpoint.origin
  const lines = [logLine(text, name, signer)]
  for (const at of [0, 1]) if (random() < 0.3) lines.push(witnessLine(text, at, TIME))
  while (hows.length === 0 || random() < 0.25) hows.push(changeLines(lines, text, checkpoint, signer, random))
  const note = `${text}\n${lines.join('')}`
  if (random() < 0.12) {
    hows.push('text of the note')
    return [changeText(note, random), hows.join(', ')]
  }
  return [note, hows.join(', ')]
}

function hostileText(text: string, { size }: Checkpoint, random: Random): [string, string] {
  const lines = text.split('\n')
  const number = pick(random, [
    `0${size}`,
    ` ${size}`,
    `+${size}`,
    `${size}.0`,
    '0',
    `${pick(random, INTEGERS)}`,
    pick(random, NUMBERS),
    String.fromCodePoint(0xff10 + (size % 10)),
  ])
  return pick(random, [
    (): [string, string] => [lines.with(1, number).join('\n'), `size ${number}`],
    (): [string, string] => [lines.with(0, changeText(lines[0]!, random)).join('\n'), 'origin'],
    (): [string, string] => [lines.with(2, otherBase64(lines[2]!, random)).join('\n'), 'root'],
    (): [string, string] => [lines.with(3, otherBase64(lines[3]!, random)).join('\n'), 'chain'],
    (): [string, string] => [`${text}${pick(random, ['x', '', 'chain ', '\u0085'])}\n`, 'further line'],
    (): [string, string] => [lines.toSpliced(below(random, 4), 1).join('\n'), 'line less'],
    (): [string, string] => [
      lines
        .with(3, lines[3]!.replace('chain ', pick(random, ['chain', 'chain  ', 'Chain ', 'chain\u00a0'])))
        .join('\n'),
      'word chain',
    ],
    (): [string, string] => [changeText(text, random), 'text'],
  ])()
}

/** Returns another base64 spelling of the bytes, which some readers accept. */
function otherBase64(text: string, random: Random): string {
  const at = below(random, text.length)
  return pick(random, [
    text.replace(/=+$/, ''),
    `${text}=`,
    `${text}\n`,
    text.replaceAll('+', '-').replaceAll('/', '_'),
    `${text.slice(0, at)} ${text.slice(at)}`,
    `${text.slice(0, at)}=${text.slice(at)}`,
    // The last character then has bits beyond the last byte.
    text.replace(/[A-Za-z0-9+/](=*)$/, (_, pad: string) => `B${pad}`),
    `${text}AAAA`,
    text.slice(4),
    changeText(text, random),
  ])
}

function changeLines(
  lines: string[],
  text: string,
  { origin }: Checkpoint,
  signer: TestSigner,
  random: Random,
): string {
  const at = below(random, lines.length)
  const add = (line: string, how: string) => {
    lines.splice(below(random, lines.length + 1), 0, line)
    return how
  }
  const signature = (bytes: number) => new Uint8Array(bytes).fill(7)
  return pick(random, [
    () => {
      const point = pickPoint(random)
      const name = pick(random, [`${point}grease`, `gre${point}ase`, `grease${point}`])
      return add(line(name, signature(4), signature(64)), `line of U+${point.codePointAt(0)!.toString(16)}`)
    },
    () => {
      const time = pick(random, [...INTEGERS, 0n, 1n, TIME, TIME * 10n ** 9n, 2n ** 63n - 1n])
      return add(witnessLine(text, pick(random, [0, 1]), time), `time ${BigInt.asUintN(64, time)}`)
    },
    () => add(witnessLine(text, 0, TIME, signature(pick(random, [1, 8]))), 'long cosignature'),
    () => {
      const { name, signer: witness } = WITNESSES[0]!
      const id = keyIdOf(sha256, name, concat([Uint8Array.of(NOTE_TYPES.cosignature), witness.key.raw]))
      return add(line(name, id, signature(pick(random, [1, 7, 8, 63, 64, 71, 72, 73]))), 'bad cosignature')
    },
    () => {
      const { name, signer: witness } = WITNESSES[1]!
      const type = pick(random, [0, 1, 2, 3, 5, 6, 0xff])
      const id = keyIdOf(sha256, name, concat([Uint8Array.of(type), witness.key.raw]))
      return add(line(name, id, signature(pick(random, [64, 72, 2_428, 3_309]))), `type ${type}`)
    },
    () => {
      const [count, bytes] = pick(random, [
        [4, 2_428],
        [5, 2_428],
        [15, 3_600],
        [16, 5_000],
        [17, 5_000],
        [62, 64],
        [63, 64],
        [64, 64],
      ] as const)
      for (let i = 0; i < count; i++) lines.push(line(`g${i}.example`, signature(4), signature(bytes)))
      return `${count} lines of ${bytes}`
    },
    () => add(lines[at] ?? '', 'line twice'),
    () => {
      const other = seededSigner(130)
      return add(logLine(text, origin, other), 'name of the log, another key')
    },
    () => {
      const id = keyIdOf(sha256, origin, concat([Uint8Array.of(1), signer.key.raw]))
      return add(line(origin, id, signature(pick(random, [1, 63, 64, 65]))), 'bad signature of the log')
    },
    () => add(`\u2014 x ${toBase64(signature(pick(random, [0, 3, 4, 5])))}\n`, 'short line'),
    () =>
      add(
        pick(random, [
          '\n',
          ' \n',
          '\u2014\n',
          '\u2014 x\n',
          '- x AAAAAAAA\n',
          '\u2013 x AAAAAAAA\n',
          '\u2014  x AAAAAAAA\n',
          '\u2014 x AAAAAAAA \n',
          '\u2014 x AAAAAAAA y\n',
          '\u2014 a+b AAAAAAAA\n',
          '\u2014\tx AAAAAAAA\n',
          'x\n\n',
        ]),
        'line of another form',
      ),
    () => {
      const parts = (lines[at] ?? '').slice(0, -1).split(' ')
      lines[at] = `${parts.slice(0, 2).join(' ')} ${otherBase64(parts[2] ?? '', random)}\n`
      return 'base64'
    },
    () => {
      lines[at] = changeText(lines[at] ?? '', random)
      return 'line'
    },
    () => {
      lines.splice(at, 1)
      return 'line less'
    },
    () => add(line('a'.repeat(pickLength(random)), signature(4), signature(8)), 'long name'),
    () =>
      add(
        line('\u{1f600}'.repeat(pick(random, [1, 2_000, 4_000, 4_096, 8_300])), signature(4), signature(8)),
        'long name of astral characters',
      ),
  ])()
}

/** Returns a changed verifier key. In half of the cases the key id matches the changed key. */
export function hostileVerifierKey(name: string, signer: TestSigner, random: Random): string {
  const type = pick(random, [1, 1, 1, 4, 0, 2, 5, 255])
  const other = random() < 0.5 ? changeText(name, random) : name
  const raw =
    random() < 0.8
      ? signer.key.raw
      : pick(random, [
          signer.key.raw.slice(1),
          concat([signer.key.raw, Uint8Array.of(0)]),
          new Uint8Array(32),
        ])
  const typed = concat([Uint8Array.of(type), raw])
  let id = toHex(keyIdOf(sha256, other.isWellFormed() ? other : name, typed))
  if (random() < 0.2)
    id = pick(random, [id.toUpperCase(), id.slice(1), `0${id}`, '00000000', changeText(id, random)])
  const key = random() < 0.2 ? otherBase64(toBase64(typed), random) : toBase64(typed)
  const vkey = `${other}+${id}+${key}`
  return random() < 0.1 ? changeText(vkey, random) : vkey
}
