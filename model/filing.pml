/*
 * The filing core: how one mapping goes to the service once. Filing 0 sends it in up to ATTEMPTS attempts; where CORRECTION
 * is set, filing 1 files its freed row again. Every step is one transaction, one message, or one move of the world.
 *
 * THE WORLD, as far as it is taken for granted:
 * - what is taken shows as a certificate or as a use of the balance before the settle time since its mark is over. LATE: one
 *   may show later. ERRED_FIRST: a status may say Errored of one that becomes a certificate. Neither may be known beforehand:
 *   they excuse a second send, until a reading could see the certificate or the service spoke of it;
 * - of two persons, person 1 may be wrong (LIES); person 0 says what the portal shows, and, shown a request or words of the
 *   service, what its help desk knows once the settle time is over;
 * - HANDS: somebody files the same mapping by hand. FOREIGNERS: a certificate of another IRM has the same details.
 *   UNLIKE: the mapping's certificates (1) or the foreign one (2) agree in the document alone. ELSEWHERE: the IRM is used for
 *   another document too. Where a foreign one is equal and new, what is taken shows as a certificate;
 * - BACK: the ledger goes back once, to a copy. 1 fail-over, which loses less than a settle time; 2 a restore that somebody
 *   declares; 3 a disk snapshot with the same epoch: a worker that saw a later beat lives, or the run was told at one.
 *
 * Each rule of the core is a line of rules.pml: -DMUTANT=NAME (and -DALSO=NAME) takes it away. run.mjs shows what then happens.
 */

#include "rules.pml"

#define WITHOUT(rule) (MUTANT == rule || ALSO == rule)
#define RULE(rule, condition) (WITHOUT(rule) || (condition))
/* What must be reachable, so that a run that holds is not empty: run.mjs expects that GOAL=n is met. */
#define reached(n) assert(GOAL != n)
#define say(text) printf(text)
#define promise(holds, text) if :: holds :: else -> printf(text); assert(false) fi

/* ---- the ledger ---- */
mtype = { PLANNED, SENT, CERTIFIED, REJECTED, RELEASED };                  /* rows */
mtype = { SENDING, UNKNOWN, ACCEPTED, REFUSED, NOT_SENT, NOT_FILED };     /* verdicts */
#define NONE 0
#define FILING_OF(a) ((a) >> 1)
#define A1(f) ((f) * 2)               /* the attempts of filing f */
#define A2(f) ((f) * 2 + 1)
#define FREED(f) (row[f] == REJECTED || row[f] == RELEASED)
#define IN_DOUBT(a) (verdict[a] == SENDING || verdict[a] == UNKNOWN || verdict[a] == ACCEPTED)
#define ANY_IN_DOUBT(f) (IN_DOUBT(A1(f)) || IN_DOUBT(A2(f)))
#define DOUBTFUL(f) (IN_DOUBT(A1(f)) -> A1(f) : A2(f))
#define CARRIED(a) (verdict[a] != NONE && verdict[a] != NOT_SENT)
#define LATEST(f) (CARRIED(A2(f)) -> A2(f) : A1(f))
#define TRIED(f) (verdict[A1(f)] != NONE || verdict[A2(f)] != NONE)
#define NEXT(f) (verdict[A2(f)] != NONE -> 3 : (verdict[A1(f)] != NONE -> 2 : 1))

/* Certificates, and evidence: one bit each. A certificate of the mapping is a send's own (bits 0 to 2) or filed by hand. */
#define OWN(e) (1 << (e))
#define ALL_OWN 7
#define HAND 8
#define FOREIGN 16
#define FELL 32
#define UNREAD 64
#define SPOKEN 128
#define COUNT(m) (((m) & 1) + (((m) >> 1) & 1) + (((m) >> 2) & 1) + (((m) >> 3) & 1) + (((m) >> 4) & 1))
#define EQUAL (UNLIKE == 1 -> FOREIGN : (UNLIKE == 2 -> 15 : 31))
#define FAILED_BY_HAND 4              /* a request of somebody else that Errored; request e + 1 is that of send e */

byte row[2]; bit ended[2]; bit approved[2];
byte certificate[2];                  /* the row's */
byte verdict[4]; byte request[4]; byte marker[4]; bit named[4]; bit words[4];
byte listed, old;                     /* certificates of all readings; those of before the first mark */
bit whole = 1; bit withinHour, sinceFreed, sinceDecision; bit sinceWindow[2]; /* the last reading */
byte base, fall;                      /* uses at the last reading with nothing on its way, and what came since */
bit windowOver[2];
byte letGo[2];                        /* what two persons let go for the next attempt */
byte given, about; byte shown[2];     /* words of persons: who has spoken, about what, shown what */
byte epoch, beat; bit recovering; byte afterRestore; byte moveEpoch[2];

/* ---- runs: what a run remembers ---- */
byte told[2], toldEpoch[2], toldBeat[2]; bit sticks[2]; bit another[2]; byte resets = RESETS;

/* ---- executions of the submit activity ---- */
mtype = { CALLED, MARKED, WRITTEN, ANSWERED, DONE };
/* PASSES: refused for now (budget, credentials, access). NO_BYTE: the sender's own word. */
mtype = { ACCEPTS, ACCEPTS_OTHER_ID, REFUSES, PASSES, DUPLICATE, NO_BYTE };
byte stage[3], attempt[3], nextEpoch[3], nextBeat[3], answer[3], because[3], erredBecause[3];

/* ---- the world ---- */
mtype = { FLYING, NOTHING, TAKEN, BAD };                                   /* fates; BAD: accepted, and Errored in the end */
mtype = { PROCESSED, ERRED, ERRED_AS_DUPLICATE };                          /* statuses */
mtype = { BY_STRANGER, OURS_ON_ITS_WAY, OURS_CERTIFIED };                  /* the use elsewhere */
mtype = { CLOCK, BEATS, SHORT };                                           /* what runs ahead */
mtype = { COPY, TOO_OLD, WENT_BACK };                                      /* the copy of the ledger */
byte fate[3], status[3];
byte issued, used;                    /* certificates that show; uses of the balance */
byte late, erredFirst;                /* sends that the world's exceptions were made for */
byte mustSee, spoken;                 /* certificates that the last reading before a send has to see; sends that the service spoke of */
bit failedByHand, abandoned; byte elsewhere, jumped;
#define USE_ELSEWHERE 16

#define TAKEN_OF(e) (fate[e] == TAKEN -> OWN(e) : 0)
#define ALL_TAKEN (TAKEN_OF(0) | TAKEN_OF(1) | TAKEN_OF(2))
#define NOT_KNOWABLE(e) (((late & ~spoken) | erredFirst) & OWN(e))
#define EXCUSED(e) (NOT_KNOWABLE(e) & ~mustSee)
#define FALLEN (used & ~base & ~certificate[0] & ~certificate[1] & (elsewhere == OURS_CERTIFIED -> 15 : 255)) /* and certified on nothing of ours */

/* ---- copy of the ledger ---- */
byte copied;
/* The copy has beat 0, what is lost has beat 1, and the beats afterwards are others, whatever their numbers. */
#define IS_LOST_BEAT(b) (copied == WENT_BACK && (b) == 1 && (beat != 2 || !WITHOUT(BEATS_HAVE_NAMES)))
#if BACK
byte c_row, c_verdict[2], c_request[2], c_marker[2], c_certificate, c_base, c_beat, c_move; bit c_ended, c_window;
#define EACH(copy) copy(row[0], c_row); copy(ended[0], c_ended); copy(verdict[0], c_verdict[0]); copy(verdict[1], c_verdict[1]); \
  copy(request[0], c_request[0]); copy(request[1], c_request[1]); copy(marker[0], c_marker[0]); copy(marker[1], c_marker[1]); \
  copy(certificate[0], c_certificate); copy(base, c_base); copy(beat, c_beat); copy(moveEpoch[0], c_move); copy(windowOver[0], c_window)
#define CALLED_LATER(e) (stage[e] != CALLED || nextBeat[e] > 0)
#define TAKE(from, to) to = from
#define PUT(to, from) to = from; from = 0
#endif

/* ---- the promises ---- */
/* Nothing that may have arrived is forgotten: its row is sent or certified, unless nobody could know. */
#define REMEMBERED(e) (fate[e] != FLYING && fate[e] != TAKEN || row[FILING_OF(attempt[e])] == SENT || \
  row[FILING_OF(attempt[e])] == CERTIFIED || (certificate[0] | certificate[1]) & OWN(e) || NOT_KNOWABLE(e) || \
  (late & OWN(e)) && (row[0] == SENT || row[0] == CERTIFIED || row[1] == SENT || row[1] == CERTIFIED))
#define ONE_ATTEMPT(f) (!(IN_DOUBT(A1(f)) && IN_DOUBT(A2(f))) && (row[f] != PLANNED || !ANY_IN_DOUBT(f)) && (row[f] != SENT || ANY_IN_DOUBT(f)))
inline check() {
  promise(copied == WENT_BACK || recovering || REMEMBERED(0) && REMEMBERED(1) && REMEMBERED(2), "@ broken | a send that may have arrived is forgotten\n");
  promise(ONE_ATTEMPT(0) && ONE_ATTEMPT(1), "@ broken | rows and attempts do not agree\n")
}
/* ---- readings and evidence ---- */
#define NOBODYS (listed & ~certificate[0] & ~certificate[1])
#define IS_NOT_FILED(x, a) (x != a && verdict[x] == NOT_FILED)
#define ANOTHER_NOT_FILED(a) (IS_NOT_FILED(0, a) || IS_NOT_FILED(1, a) || IS_NOT_FILED(2, a) || IS_NOT_FILED(3, a)) /* of the mapping */
#define WAS_FREED_BY(a) (verdict[a] == NOT_FILED || verdict[a] == REFUSED)
#define WAS_FREED (WAS_FREED_BY(0) || WAS_FREED_BY(1) || WAS_FREED_BY(2) || WAS_FREED_BY(3) || row[0] == REJECTED || row[1] == REJECTED)
/* Nothing is written where another send may have arrived, or a certificate showed that had to be seen. */
#define CLEAR_OF(e, o, excused) (e == o || fate[o] != FLYING && (fate[o] != TAKEN || excused))
inline check_mark(e) {
  promise(CLEAR_OF(e, 0, EXCUSED(0)) && CLEAR_OF(e, 1, EXCUSED(1)) && CLEAR_OF(e, 2, EXCUSED(2)) && !(mustSee & HAND & (WAS_FREED -> ~old : EQUAL)), "@ broken | it begins to send what arrived\n")
}
inline check_write(e) {
  promise(CLEAR_OF(e, 0, (late | erredFirst) & OWN(0)) && CLEAR_OF(e, 1, (late | erredFirst) & OWN(1)) && CLEAR_OF(e, 2, (late | erredFirst) & OWN(2)), "@ broken | the mapping is sent twice\n")
}

/* What stands against a send of filing f (rule 4). */
#define READ (RULE(READ_WITHIN_HOUR, withinHour) && (!WAS_FREED || RULE(READ_SINCE_FREED, sinceFreed)))
#define STANDS ((NOBODYS & EQUAL & (WITHOUT(EQUAL_STANDS) -> 0 : 255)) \
  | (WAS_FREED && !WITHOUT(AGREEING_STANDS) -> NOBODYS & ~old : 0) \
  | (whole -> 0 : UNREAD))
#define NOT_LET_GO(f) (STANDS & ~letGo[f] & (WITHOUT(ONLY_WHAT_WAS_SHOWN) && letGo[f] -> 0 : 255))
/* What speaks against "not filed" of the doubtful attempt of filing f. */
#define EVIDENCE(f) ((WITHOUT(EVIDENCE_CERTIFICATES) -> 0 : NOBODYS & ~old) \
  | ((fall > 0 || elsewhere == OURS_ON_ITS_WAY) && !WITHOUT(EVIDENCE_FALL) -> FELL : 0) \
  | (whole || WITHOUT(EVIDENCE_UNREAD) -> 0 : UNREAD) \
  | ((request[A1(f)] || request[A2(f)]) && !WITHOUT(EVIDENCE_REQUEST) || (words[A1(f)] || words[A2(f)]) && !WITHOUT(EVIDENCE_WORDS) -> SPOKEN : 0))
#define WINDOW_OVER(f) (windowOver[f] || WITHOUT(CLOCK_AND_BEATS) && jumped == CLOCK || WITHOUT(BEATS_AND_CLOCK) && jumped == BEATS || WITHOUT(LONGER_WINDOW) && jumped == SHORT)

inline forget_words() { given = 0; about = 0; shown[0] = 0; shown[1] = 0 }
inline new_window(f) { windowOver[f] = 0; sinceWindow[f] = 0; jumped = 0 }
/* A row that was sent is sent no longer. */
inline free_row(f, state) {
  row[f] = state; ended[f] = (state != PLANNED);
  sinceFreed = 0; mustSee = mustSee | issued; forget_words()
}
/* It was sent after all. */
inline hold_again(f) {
  row[f] = SENT; ended[f] = 0; forget_words();
  if :: row[1 - (f)] == PLANNED && !WITHOUT(STOPS_PLANNED) -> row[1 - (f)] = RELEASED; ended[1 - (f)] = 1 :: else fi
}
inline certify(f, c) {
  promise((c) != FOREIGN, "@ broken | certified by a certificate of another IRM\n");
  row[f] = CERTIFIED; certificate[f] = c; ended[f] = 1; forget_words()
}
/* Attempt a was not sent, or refused. A request or words that came late for the other attempt then count. */
inline not_taken(a, f, becomes, state) {
  verdict[a] = becomes;
  if
  :: request[(a) ^ 1] && verdict[(a) ^ 1] == NOT_FILED && !WITHOUT(STORED_REQUEST_COUNTS) -> verdict[(a) ^ 1] = ACCEPTED
  :: !request[(a) ^ 1] && words[(a) ^ 1] && verdict[(a) ^ 1] == NOT_FILED && !WITHOUT(STORED_REQUEST_COUNTS) -> verdict[(a) ^ 1] = UNKNOWN
  :: else -> if :: becomes == REFUSED -> free_row(f, state) :: else -> row[f] = state fi
  fi
}
inline insert_unknown(a, f) {
  verdict[a] = UNKNOWN; marker[a] = 0; row[f] = SENT; moveEpoch[f] = epoch; another[f] = 0; new_window(f); forget_words()
}

#define CANDIDATES (NOBODYS & (WITHOUT(ADOPT_EQUAL) -> 255 : EQUAL) & ~(WITHOUT(ADOPT_NEW) -> 0 : old))
#define LOWEST(m) ((m) & -(m))
#define MAY_ADOPT(f) (row[f] == SENT && verdict[DOUBTFUL(f)] == UNKNOWN && CANDIDATES \
  && RULE(ADOPT_WHOLE, whole) && RULE(ADOPT_AFTER_WINDOW, sinceWindow[f]) \
  && RULE(ADOPT_AS_MANY, COUNT(CANDIDATES) == 1 && row[1 - (f)] != SENT) \
  && RULE(ADOPT_FALL_EXACT, fall == 1) && RULE(ADOPT_NOTHING_ELSE, elsewhere != BY_STRANGER && !(NOBODYS & ~old & ~CANDIDATES)) \
  && RULE(ADOPT_NONE_ON_ITS_WAY, elsewhere != OURS_ON_ITS_WAY))
inline adopt(f) {
  if
  :: MAY_ADOPT(f) -> verdict[DOUBTFUL(f)] = ACCEPTED; say("@ ledger | adopts a certificate\n"); reached(1);
     certify(f, (WITHOUT(ADOPT_AS_MANY) && (CANDIDATES & FOREIGN) -> FOREIGN : LOWEST(CANDIDATES)))
  :: else
  fi
}
inline learn_certificate(f) {
  if
  :: FREED(f) && (CARRIED(A1(f)) || CARRIED(A2(f))) && row[1 - (f)] != SENT && (NOBODYS & ~old & ~letGo[f]) && !WITHOUT(LATE_CERTIFICATE) ->
     say("@ ledger | a certificate of a freed row: it is held again\n"); reached(2);
     if :: !ANY_IN_DOUBT(f) -> verdict[LATEST(f)] = UNKNOWN :: else fi;
     hold_again(f)
  :: else
  fi
}
inline read(certificates, isWhole) {
  listed = listed | (certificates); whole = (isWhole || WITHOUT(READ_WHOLE)); sinceDecision = 1;
  if :: isWhole || WITHOUT(READ_WHOLE) -> withinHour = 1; sinceFreed = 1; if :: afterRestore == 2 -> afterRestore = 0 :: else fi :: else fi;
  sinceWindow[0] = WINDOW_OVER(0); sinceWindow[1] = WINDOW_OVER(1);
  fall = COUNT(FALLEN);
  if :: !TRIED(0) && !TRIED(1) -> old = listed :: else fi;
  if :: isWhole && row[0] != SENT && row[1] != SENT -> base = used; fall = 0 :: else fi;
  adopt(0); adopt(1); learn_certificate(0); learn_certificate(1);
  if :: isWhole -> promise(!(listed & ALL_TAKEN & ~certificate[0] & ~certificate[1]) || !FREED(0) || row[1] == SENT || FREED(1) && !TRIED(1) || copied == WENT_BACK, "@ broken | a certificate of ours is read, and its row stays free\n") :: else fi
}

/* ---- the submit activity ---- */
#define HOLDS_ALONE(f) (row[1 - (f)] != PLANNED && row[1 - (f)] != SENT && row[1 - (f)] != CERTIFIED)
#define MAY_SEND(e, a, f) ( \
     RULE(NOT_ENDED, !ended[f]) && RULE(ROWS_PLANNED, row[f] == PLANNED) && RULE(APPROVED, approved[f]) \
  && RULE(NOBODY_ELSE, HOLDS_ALONE(f)) \
  && RULE(NEW_NUMBER, verdict[a] == NONE) && RULE(ONE_IN_DOUBT, !ANY_IN_DOUBT(f)) \
  && RULE(SAME_EPOCH, nextEpoch[e] == epoch) && RULE(BEAT_IS_KNOWN, !IS_LOST_BEAT(nextBeat[e])) \
  && RULE(NOT_RECOVERING, !recovering) && RULE(READ_AFTER_RESTORE, afterRestore == 0) \
  && (READ || letGo[f] & UNREAD) && NOT_LET_GO(f) == 0)

/* Words that may be the proof that it was filed. */
#define SPEAKS_AGAINST(e, a, f) (answer[e] == DUPLICATE || answer[e] == REFUSES && ANOTHER_NOT_FILED(a) && !WITHOUT(REFUSED_AFTER_NOT_FILED))

active [NE] proctype execution() {
#define e _pid
#define a attempt[e]
#define f FILING_OF(attempt[e])
  do
  :: atomic { stage[e] == CALLED && row[f] != NONE && MAY_SEND(e, a, f) ->
       say("@ sender | begins to send\n");
       promise(approved[f] && !abandoned, "@ broken | a filing is sent that nobody approved, or that was abandoned\n");
       check_mark(e); stage[e] = MARKED; verdict[a] = SENDING; marker[a] = e + 1; row[f] = SENT; ended[f] = 0; letGo[f] = 0; moveEpoch[f] = epoch;
       new_window(f); forget_words(); nextEpoch[e] = 0; nextBeat[e] = 0 }
  :: atomic { stage[e] == CALLED -> say("@ sender | returns, or dies, and has marked nothing\n");
       if
       :: WITHOUT(OWN_MARK_ALONE) && (verdict[a] == SENDING || verdict[a] == UNKNOWN) -> verdict[a] = NOT_SENT; row[f] = PLANNED; check()
       :: else
       fi;
       stage[e] = NONE; attempt[e] = 0; nextEpoch[e] = 0; nextBeat[e] = 0 }
  :: atomic { stage[e] == MARKED && !(LOST && e == 0) -> say("@ sender | writes the request\n");
       check_write(e); stage[e] = WRITTEN; fate[e] = FLYING;
       if :: a == A2(0) -> reached(3) :: a >= A1(1) -> reached(4) :: else fi; check() }
  :: atomic { stage[e] == MARKED -> say("@ sender | gives up before it wrote a byte\n"); fate[e] = NOTHING;
       if :: !LOST -> stage[e] = ANSWERED; answer[e] = NO_BYTE :: stage[e] = DONE fi }
  :: atomic { stage[e] == WRITTEN -> stage[e] = ANSWERED; say("@ service | has the request\n");
       if
       :: fate[e] = TAKEN; answer[e] = ACCEPTS; because[e] = OWN(e)
       :: fate[e] = BAD; answer[e] = ACCEPTS; status[e] = ERRED; erredBecause[e] = (LATE -> ALL_TAKEN : 0)
       :: fate[e] = NOTHING; stage[e] = DONE
       :: WITHOUT(CUT_IS_UNKNOWN) -> fate[e] = TAKEN; answer[e] = NO_BYTE
       :: WORDS -> fate[e] = NOTHING; answer[e] = PASSES
       :: WORDS -> because[e] = ALL_TAKEN; fate[e] = NOTHING; answer[e] = REFUSES   /* its content, or no amount is left since another one was taken */
       :: WORDS -> fate[e] = TAKEN; answer[e] = DUPLICATE; because[e] = ALL_TAKEN   /* of itself: a proxy wrote it twice */
       :: WORDS && ALL_TAKEN != 0 -> because[e] = ALL_TAKEN; fate[e] = NOTHING; answer[e] = DUPLICATE
       :: OTHER_IDS && e > 0 && (request[0] == 1 || request[1] == 1) && attempt[0] != a -> fate[e] = TAKEN; answer[e] = ACCEPTS_OTHER_ID
       fi }
  :: atomic { stage[e] == ANSWERED -> say("@ sender | dies with the answer\n"); stage[e] = DONE; answer[e] = 0; because[e] = 0 }
  /* The answer is stored, whatever the verdict is by then. */
  :: atomic { stage[e] == ANSWERED && row[f] != NONE -> say("@ sender | stores the answer\n"); stage[e] = DONE;
       spoken = spoken | because[e]; because[e] = 0;
       if
       :: verdict[a] == NONE ->
          if
          :: WITHOUT(ANSWER_IS_FINDING)
          :: else -> recovering = 1;
             if :: answer[e] == ACCEPTS && !ANY_IN_DOUBT(f) -> insert_unknown(a, f); verdict[a] = ACCEPTED; request[a] = e + 1; ended[f] = 0 :: else fi
          fi
       :: verdict[a] == SENDING || verdict[a] == UNKNOWN ->
          if
          :: answer[e] == ACCEPTS -> verdict[a] = ACCEPTED; request[a] = e + 1; named[a] = 0
          :: answer[e] == ACCEPTS_OTHER_ID -> if :: WITHOUT(ID_OF_ANOTHER) -> verdict[a] = ACCEPTED; request[a] = 1 :: else -> verdict[a] = UNKNOWN fi
          :: answer[e] == NO_BYTE && marker[a] == e + 1 || answer[e] == PASSES -> not_taken(a, f, NOT_SENT, PLANNED)
          :: answer[e] == REFUSES && !SPEAKS_AGAINST(e, a, f) || answer[e] == DUPLICATE && WITHOUT(DUPLICATE_IS_UNKNOWN) -> not_taken(a, f, REFUSED, RELEASED)
          :: else -> verdict[a] = UNKNOWN; words[a] = SPEAKS_AGAINST(e, a, f)
          fi
       :: (verdict[a] == NOT_FILED || verdict[a] == NOT_SENT) && answer[e] == ACCEPTS && !WITHOUT(LATE_ACCEPTANCE) ->
          request[a] = e + 1; named[a] = 0; reached(5);
          if
          :: RULE(LATE_BESIDE_ANOTHER, !ANY_IN_DOUBT(f)) && row[f] != CERTIFIED -> verdict[a] = ACCEPTED; hold_again(f)
          :: else
          fi
       :: verdict[a] == NOT_FILED && SPEAKS_AGAINST(e, a, f) && !WITHOUT(LATE_WORDS) ->
          words[a] = 1; if :: !ANY_IN_DOUBT(f) && row[f] != CERTIFIED -> verdict[a] = UNKNOWN; hold_again(f) :: else fi
       :: else -> if :: answer[e] == ACCEPTS -> request[a] = e + 1; named[a] = 0 :: else fi
       fi;
       promise(answer[e] != ACCEPTS || request[a] == e + 1 || recovering, "@ broken | an acceptance is forgotten\n"); answer[e] = 0; forget_words(); check() }
  od
#undef e
#undef a
#undef f
}

/* ---- a filing: its run, its request, its persons ---- */
#define COULD_BE_SENT(f) (row[f] == PLANNED && !ended[f] && !ANY_IN_DOUBT(f))
#define TIME_WENT_BACK(f) (!WITHOUT(TOLD_EPOCH) && toldEpoch[f] != epoch || !WITHOUT(TOLD_BEAT) && IS_LOST_BEAT(toldBeat[f]) || sticks[f])
#define TOLD(f) (A1(f) + told[f] - 1)
#define IS_MISSING(f) (told[f] > 0 && verdict[TOLD(f)] == NONE && !WITHOUT(TOLD_REMEMBERED))
#define LAST_ATTEMPT(f) ((f) == 0 -> ATTEMPTS : 1)
#define SLOT (stage[0] == NONE -> 0 : (NE > 1 && stage[1] == NONE -> 1 : (NE > 2 && stage[2] == NONE -> 2 : 3)))
byte slot;

#define ASKS(f) (row[f] == SENT && (verdict[DOUBTFUL(f)] == UNKNOWN && RULE(NOT_FILED_WINDOW, WINDOW_OVER(f)) \
  || verdict[DOUBTFUL(f)] == ACCEPTED && RULE(DENIAL_WINDOW, WINDOW_OVER(f))))
#define WAITS(f) (row[f] == PLANNED && !ended[f] && NOT_LET_GO(f) != 0)
#define QUESTION(f) (ASKS(f) -> 1 + (f) : 3 + (f))
#define SHOW(f) (ASKS(f) -> EVIDENCE(f) : STANDS)
#define HAS_SPOKEN(p) (given & (1 << (p)))
/* Whether person p says that it was not filed. */
#define SEES_IT(f) ((issued | used) & (ALL_OWN | HAND) & ~certificate[0] & ~certificate[1] || (SHOW(f) & SPOKEN) && windowOver[f] && ALL_TAKEN != 0)
#define WOULD_SAY(p, f) (p == 1 && LIES || !SEES_IT(f))
#define BOTH(m) (given == 3 && RULE(SHOWN_TO_BOTH, ((m) & ~(shown[0] & shown[1])) == 0))
inline speak(p, f) {
  if :: about != QUESTION(f) -> forget_words(); about = QUESTION(f) :: else fi;
  given = given | (1 << p); shown[p] = SHOW(f); sinceDecision = 0
}

active [1 + CORRECTION] proctype filing() {
#define f (_pid - NE)
  do
  /* the run asks what is next: first whether the ledger still knows what it told */
  :: atomic { row[f] != NONE ->
       slot = SLOT;
       if
       :: IS_MISSING(f) && TIME_WENT_BACK(f) && COULD_BE_SENT(f) -> say("@ run | the ledger went back: the attempt is unknown\n");
          insert_unknown(TOLD(f), f); sticks[f] = 0
       :: else ->
          if :: IS_MISSING(f) && TIME_WENT_BACK(f) -> sticks[f] = !WITHOUT(FINDING_STICKS) :: else fi;
          if
          :: another[f] && moveEpoch[f] != epoch && COULD_BE_SENT(f) && NEXT(f) <= LAST_ATTEMPT(f) -> say("@ run | another run and epoch: the next attempt is unknown\n");
             told[f] = NEXT(f); insert_unknown(TOLD(f), f)
          :: else ->
             if :: WITHOUT(ANOTHER_RUN_STICKS) -> another[f] = 0 :: else fi;
             if
             :: COULD_BE_SENT(f) && NEXT(f) <= LAST_ATTEMPT(f) && slot < NE -> say("@ run | is told to send\n");
                if :: told[f] < NEXT(f) -> told[f] = NEXT(f) :: else fi;
                stage[slot] = CALLED; attempt[slot] = A1(f) + NEXT(f) - 1; nextEpoch[slot] = epoch; nextBeat[slot] = beat;
                another[f] = 0; moveEpoch[f] = epoch
             :: else
             fi
          fi
       fi;
       toldEpoch[f] = epoch; toldBeat[f] = beat; slot = 0; check() }
  :: atomic { resets > 0 && told[f] > 0 -> say("@ person | resets or replaces the run\n"); resets--;
       told[f] = 0; toldEpoch[f] = 0; toldBeat[f] = 0; sticks[f] = 0;
       if :: another[f] = !WITHOUT(ANOTHER_RUN) :: WITHOUT(RESET_IS_ANOTHER) fi }
  /* Past the time-outs. That it is not earlier is no matter of safety: nothing follows from unknown before the settle time. */
  :: atomic { verdict[A1(f)] == SENDING || verdict[A2(f)] == SENDING -> say("@ ledger | sending becomes unknown\n"); verdict[DOUBTFUL(f)] = UNKNOWN }
  /* the settle time since the last mark of the filing */
#define HAS_SHOWN(e) (FILING_OF(attempt[e]) != f || fate[e] != FLYING && (fate[e] != TAKEN || (issued | late | (FOREIGNERS && UNLIKE != 2 && !(old & FOREIGN) -> 0 : used)) & OWN(e)))
#define GIVES_UP(e) if :: stage[e] == MARKED && !WITHOUT(WRITE_IN_TIME) -> stage[e] = DONE; fate[e] = NOTHING :: else fi
  :: atomic { ANY_IN_DOUBT(f) && !windowOver[f] && HAS_SHOWN(0) && HAS_SHOWN(1) && HAS_SHOWN(2) -> say("@ time | the settle time is over\n");
       if :: FILING_OF(attempt[0]) == f -> GIVES_UP(0) :: else fi; if :: FILING_OF(attempt[1]) == f -> GIVES_UP(1) :: else fi; if :: FILING_OF(attempt[2]) == f -> GIVES_UP(2) :: else fi;
       windowOver[f] = 1; jumped = 0; sinceDecision = 0;
       if :: BACK == 1 && copied == COPY -> copied = TOO_OLD :: else fi }

  /* follow: every request of the filing is polled */
#define POLL(x) \
  if \
  :: row[f] == SENT && request[x] > 0 && request[x] < FAILED_BY_HAND && status[request[x] - 1] == PROCESSED && !((certificate[0] | certificate[1]) & OWN(request[x] - 1)) -> \
     verdict[DOUBTFUL(f)] = ACCEPTED; certify(f, OWN(request[x] - 1)) \
  :: row[f] == SENT && request[x] > 0 && verdict[x] == ACCEPTED && REJECTS(x) && \
     RULE(ERRED_AFTER_NOT_FILED, !ANOTHER_NOT_FILED(x) && request[x ^ 1] == 0) -> free_row(f, REJECTED) \
  :: row[f] == SENT && request[x] == FAILED_BY_HAND && WITHOUT(ERRED_OWN_REQUEST) -> verdict[x] = ACCEPTED; free_row(f, REJECTED) \
  :: else \
  fi
#define REJECTS(x) (!named[x] && (status[request[x] - 1] == ERRED || status[request[x] - 1] == ERRED_AS_DUPLICATE && WITHOUT(ERRED_DUPLICATE)))
/* An Errored that came because another one was taken. */
#define HEAR(x) if :: request[x] > 0 && request[x] < FAILED_BY_HAND && status[request[x] - 1] == ERRED -> spoken = spoken | erredBecause[request[x] - 1] :: else fi
  :: atomic { row[f] == SENT && (request[A1(f)] || request[A2(f)]) -> say("@ ledger | follows the requests\n");
       HEAR(A1(f)); HEAR(A2(f)); POLL(A1(f)); POLL(A2(f)); check() }
  /* persons: not filed, or let it go */
  :: atomic { (ASKS(f) || WAITS(f)) && !HAS_SPOKEN(0) && WOULD_SAY(0, f) -> say("@ person 0 | not filed\n"); speak(0, f) }
  :: atomic { (ASKS(f) || WAITS(f)) && !HAS_SPOKEN(1) && WOULD_SAY(1, f) -> say("@ person 1 | not filed\n"); speak(1, f) }
  :: atomic { ASKS(f) && given && about == QUESTION(f) && RULE(NOT_FILED_READING, sinceDecision) &&
       (RULE(TWO_AGAINST_EVIDENCE, EVIDENCE(f) == 0) || BOTH(EVIDENCE(f))) -> say("@ ledger | not filed\n");
       slot = DOUBTFUL(f); verdict[slot] = NOT_FILED; letGo[f] = EVIDENCE(f);
       if
       :: slot == A1(f) && f == 0 && ATTEMPTS > 1 && verdict[A2(f)] == NONE && RULE(WORDS_END_IT, !words[slot]) -> free_row(f, PLANNED)
       :: free_row(f, RELEASED)
       fi;
       slot = 0; check() }
  :: atomic { WAITS(f) && about == QUESTION(f) && (BOTH(STANDS) || WITHOUT(TWO_LET_GO) && given) -> say("@ ledger | two persons let it go\n"); reached(6);
       letGo[f] = letGo[f] | STANDS; forget_words() }
  /* filed: a certificate that two persons name, so one that is right; or a request */
  :: atomic { (ASKS(f) || WAITS(f)) && (NOBODYS & (ALL_OWN | HAND) || WITHOUT(TWO_NAME) && NOBODYS) -> say("@ persons | name a certificate\n");
       if :: ANY_IN_DOUBT(f) -> verdict[DOUBTFUL(f)] = ACCEPTED :: else fi;
       certify(f, LOWEST(NOBODYS)) }
  :: atomic { row[f] == SENT && verdict[DOUBTFUL(f)] == UNKNOWN && request[DOUBTFUL(f)] == 0 && failedByHand -> say("@ person | names a request that Errored\n");
       request[DOUBTFUL(f)] = FAILED_BY_HAND; named[DOUBTFUL(f)] = 1; forget_words() }
  :: atomic { APPROVALS && row[f] == PLANNED && !approved[f] -> say("@ person | approves\n"); approved[f] = 1 }
  :: atomic { APPROVALS && row[f] == PLANNED && !TRIED(f) -> say("@ person | abandons\n"); row[f] = RELEASED; ended[f] = 1; abandoned = 1 }
  od
#undef f
}

/* ---- the rest: the service, time, other people, readings, and the ledger itself ---- */
active proctype world() {
  row[0] = (BACK == 2 -> NONE : PLANNED); approved[0] = !APPROVALS; approved[1] = 1;
  do
#define SERVICE(e) \
  :: atomic { fate[e] == TAKEN && !(issued & OWN(e)) -> say("@ service | a certificate is issued\n"); issued = issued | OWN(e); status[e] = PROCESSED; \
       if :: used = used | OWN(e) :: USES fi } \
  :: atomic { USES && fate[e] == TAKEN && !(used & OWN(e)) && !(FOREIGNERS && (late & ~issued & OWN(e))) -> say("@ service | the balance falls\n"); used = used | OWN(e) } \
  :: atomic { LATE && late == 0 && fate[e] == TAKEN && !((issued | used) & OWN(e)) -> say("@ service | is behind\n"); late = OWN(e) } \
  :: atomic { ERRED_FIRST && erredFirst == 0 && fate[e] == TAKEN && status[e] == 0 && !(issued & OWN(e)) -> say("@ service | status: Errored, which does not stay\n"); \
       if :: erredFirst = OWN(e); status[e] = ERRED :: WORDS -> status[e] = ERRED_AS_DUPLICATE fi }
  SERVICE(0)
  SERVICE(1)
  SERVICE(2)
  :: atomic { HANDS && (withinHour || about > 2 || (letGo[0] | letGo[1]) & UNREAD) && stage[0] != MARKED && stage[1] != MARKED && stage[2] != MARKED ->
       say("@ time | an hour passes, with all that comes by hand\n"); withinHour = 0; mustSee = mustSee | issued;
       if :: !WITHOUT(UNREAD_FOR_AN_HOUR) -> letGo[0] = letGo[0] & ~UNREAD; letGo[1] = letGo[1] & ~UNREAD; if :: about > 2 -> forget_words() :: else fi :: else fi }
  :: atomic { BACK == 2 && afterRestore == 1 && fate[0] != FLYING && fate[1] != FLYING && fate[2] != FLYING && (ALL_TAKEN & ~issued & ~(USES -> used : 0)) == 0 -> say("@ time | a settle time since the restore\n");
       GIVES_UP(0); GIVES_UP(1); GIVES_UP(2); afterRestore = 2 }
  :: atomic { JUMPS && jumped == 0 && TRIED(0) && !windowOver[0] -> say("@ time | one measure runs ahead\n");
       if :: jumped = CLOCK :: jumped = BEATS :: jumped = SHORT fi }
  :: atomic { BACK == 3 && beat < (copied == WENT_BACK -> 2 : 1) -> say("@ time | a beat\n"); beat = (copied == WENT_BACK -> 2 : 1) }
  /* other people */
  :: atomic { HANDS && !(issued & HAND) && row[0] != SENT && row[1] != SENT -> say("@ somebody | files the mapping by hand\n"); issued = issued | HAND; used = used | HAND }
  :: atomic { HANDS && !failedByHand && TRIED(0) -> say("@ somebody | files by hand, and it fails\n"); failedByHand = 1 }
  :: atomic { FOREIGNERS && !(issued & FOREIGN) -> say("@ somebody | files an equal mapping of another IRM\n"); issued = issued | FOREIGN }
  :: atomic { ELSEWHERE && elsewhere == 0 && TRIED(0) -> say("@ somebody | uses the IRM for another document\n");
       if :: elsewhere = BY_STRANGER; used = used | USE_ELSEWHERE :: elsewhere = OURS_ON_ITS_WAY; if :: used = used | USE_ELSEWHERE :: true fi fi }
  :: atomic { elsewhere == OURS_ON_ITS_WAY -> say("@ ledger | the other document is certified\n"); used = used | USE_ELSEWHERE; elsewhere = OURS_CERTIFIED }
  /* readings */
  :: atomic { say("@ ledger | reads everything\n"); read(issued, 1); check() }
  :: atomic { PARTS -> say("@ ledger | reads a part\n"); if :: read(issued & FOREIGN, 0) :: read(issued & (ALL_OWN | HAND), 0) :: read(0, 0) fi; check() }
  /* a filing is recorded; a correction takes a freed row over */
  :: atomic { row[0] == NONE && copied != WENT_BACK -> say("@ ledger | records the filing\n"); row[0] = PLANNED; moveEpoch[0] = epoch }
  :: atomic { CORRECTION && row[1] == NONE && (FREED(0) || row[0] == NONE && copied == WENT_BACK) -> say("@ ledger | records another filing of the mapping\n");
       row[1] = PLANNED; moveEpoch[1] = epoch }
#if BACK
  :: atomic { copied == 0 && row[1] == NONE && beat == 0 -> say("@ ledger | is copied\n"); copied = COPY; EACH(TAKE) }
  :: atomic { copied == COPY && row[1] == NONE && (BACK != 3 || beat == 1) -> say("@ ledger | goes back\n"); copied = WENT_BACK;
       if
       :: BACK != 3 || !WITHOUT(WORKERS_SEE_BEATS) -> epoch++
       :: BACK == 3 && (resets == RESETS && toldBeat[0] > 0 && CALLED_LATER(0) && CALLED_LATER(1) || WITHOUT(WORKERS_SEE_BEATS)) -> resets = 0
       fi;
       EACH(PUT); letGo[0] = 0; listed = 0; fall = 0; whole = 1; withinHour = 0; sinceFreed = 0; sinceWindow[0] = 0; forget_words();
       recovering = (BACK == 2) }
  :: atomic { BACK == 2 && recovering -> say("@ person | declares the restore\n"); recovering = 0; afterRestore = 1; withinHour = 0;
       if
       :: row[0] == PLANNED && NEXT(0) <= ATTEMPTS && !WITHOUT(OPEN_IS_UNKNOWN) -> told[0] = NEXT(0); insert_unknown(TOLD(0), 0)
       :: row[0] == NONE && told[0] > 0 -> row[0] = PLANNED; if :: !WITHOUT(RECORDED_AGAIN_UNKNOWN) -> insert_unknown(TOLD(0), 0) :: else fi
       :: else
       fi }
  :: atomic { BACK != 2 && recovering -> say("@ ledger | the comparison finds all\n"); recovering = 0 }
#endif
  od
}
