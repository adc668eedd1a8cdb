import type { Page } from 'playwright-core'
import type { Fleet } from './fleet.ts'

export type Question = {
  readonly question: string
  readonly go: (page: Page, fleet: Fleet) => Promise<void>
  readonly answer: (fleet: Fleet) => string
}

const menu = (page: Page, name: string) => page.getByRole('navigation').getByRole('link', { name }).click()
const part = (page: Page, heading: RegExp) =>
  page.locator('section.card').filter({ has: page.getByRole('heading', { name: heading }) })

const find = async (page: Page, text: string) => {
  await menu(page, 'Search')
  await page.getByLabel(/Any text, an id/).fill(text)
  await page.keyboard.press('Enter')
}

/**
 * Questions of a reader, each with the clicks that lead to its answer. docs/guides/console.md describes the same
 * clicks.
 */
export const QUESTIONS: readonly Question[] = [
  {
    question: 'Which agents did anything today, and how did it end?',
    go: (page) => menu(page, 'Day'),
    answer: () => 'researcher',
  },
  {
    question: 'Who approved the payment?',
    go: (page) => menu(page, 'Day'),
    answer: () => 'person ada',
  },
  {
    question: 'What was denied, and by which rule?',
    go: (page) => menu(page, 'Day'),
    answer: () => 'policy no-deletes',
  },
  {
    question: 'What failed, and why?',
    go: (page) => menu(page, 'Day'),
    answer: () => 'no answer within 10 s',
  },
  {
    question: 'Which actions have no outcome?',
    go: (page) => menu(page, 'Day'),
    answer: () => 'send_mail',
  },
  {
    question: 'What was that action a part of?',
    go: async (page) => {
      await menu(page, 'Day')
      await part(page, /^Actions without an outcome/)
        .getByRole('link', { name: /^rec/ })
        .click()
      await page.getByRole('link', { name: 'tree of its run' }).click()
    },
    answer: () => 'restock warehouse 4',
  },
  {
    question: 'Is this record true?',
    go: (page, { records }) => find(page, records.accepted),
    answer: () => 'Verified in this browser',
  },
  {
    question: 'Did the agent sign it itself?',
    go: (page, { records }) => find(page, records.signed),
    answer: () => 'signed by the agent',
  },
  {
    question: 'What became of the order that a customer asks about?',
    go: async (page) => {
      await find(page, 'order:77')
      // Until the answer comes, the page shows the list of all records.
      const found = part(page, /^Records$/)
      await found.getByText('1 record found').waitFor()
      await found.getByRole('link', { name: /^rec/ }).click()
    },
    answer: () => 'INV-2203',
  },
  {
    question: 'Which records mention a customer?',
    go: (page) => find(page, 'supplier.example'),
    answer: () => 'payload.arguments.to',
  },
  {
    question: 'What waits for somebody, and for whom?',
    go: (page) => menu(page, 'Waiting'),
    answer: () => 'Not accepted yet: 1',
  },
  {
    question: 'What was erased, by whom, and which entry records it?',
    go: (page) => menu(page, 'Retention'),
    answer: () => 'data_subject_request',
  },
  {
    question: 'When was the whole ledger last verified, with what result?',
    go: async (page) => {
      await page.getByRole('link', { name: 'no fault' }).click()
      await page.waitForSelector('h1:has-text("Audits")')
    },
    answer: () => 'no fault',
  },
  {
    question: 'Which keys can write in the name of the buyer?',
    go: async (page) => {
      await menu(page, 'Agents and keys')
      await part(page, /^Agents$/)
        .getByRole('link', { name: 'buyer' })
        .click()
    },
    answer: () => 'records:write',
  },
]
