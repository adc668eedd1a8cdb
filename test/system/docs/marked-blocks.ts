import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const PROJECT = resolve(import.meta.dirname, '..', '..', '..')

/**
 * A block of a page with its mark. The mark stands in the paragraph before the block and says whether the block was
 * tried.
 */
export type MarkedBlock = {
  readonly mark: 'Tried' | 'Parsed' | 'Not tried' | null
  readonly language: string
  readonly text: string
}

export function markedBlocks(page: string): MarkedBlock[] {
  const text = readFileSync(join(PROJECT, page), 'utf8')
  return [...text.matchAll(/^([^\n]*(?:\n[^\n]+)*)\n\n```(\w*)\n([\s\S]*?)^```/gm)].map(
    ([, paragraph, language, text]) => ({
      mark: (/^\*(Tried|Parsed|Not tried)\*?[. (]/m.exec(paragraph!)?.[1] ?? null) as MarkedBlock['mark'],
      language: language!,
      text: text!,
    }),
  )
}

/** Returns the only block that contains `part`. Throws if no block or several blocks contain it. */
export function blockWith(blocks: readonly MarkedBlock[], language: string, part: string): string {
  const found = blocks.filter((block) => block.language === language && block.text.includes(part))
  if (found.length !== 1) throw new Error(`${found.length} blocks of ${language} have ${part}`)
  return found[0]!.text
}
