import { z } from 'zod'
import { TEXT_BYTES_MAX } from '../../proof/limits.ts'
import { NAME_CHARS_MAX } from '../limits.ts'

/**
 * Excludes control characters, as `\P{Cc}` would. They are listed one by one, because some readers of /openapi.json do
 * not support Unicode properties in patterns.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is about them
export const WITHOUT_CONTROLS = /^[^\u0000-\u001f\u007f-\u009f]*$/u

/**
 * Name of a ledger, an agent, a key or a peer. People compare names by eye, so two names that look the same must be
 * equal texts (see `isName`). Letters of different alphabets that look alike are not detected.
 */
export const name = z.string().min(1).max(NAME_CHARS_MAX).regex(WITHOUT_CONTROLS).meta({ format: 'name' })

/**
 * Checks the format `name`: Unicode normalization form C, without invisible characters (controls, format characters,
 * variation selectors). The only space is U+0020. There are never two spaces in a row, and none at the start or end
 * (RFC 8266 §2.1).
 */
export function isName(text: string): boolean {
  return text === text.normalize('NFC') && !INVISIBLE.test(text) && !/^ | $| {2}/.test(text)
}

export const NAME_RULE =
  'must be in Unicode form NFC, without invisible characters, and with single spaces between words'

/**
 * Rule of the format `text` in signed objects (docs/formats/rules.md). The rule needs a format of its own, because it
 * counts bytes, but `maxLength` of a schema counts characters.
 */
export const TEXT_RULE = `must have at most ${TEXT_BYTES_MAX} bytes of UTF-8`

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/u
