/*
 * The three gates: what a ledger may conclude about a mapping that was sent, from answers, requests, looks at certificates and
 * words of persons. One filing (0), and what takes its rows over (1): a correction, or the reference filed again, perhaps with
 * another document. How a send gets from its mark to the network is in submit-protocol.pml; here a mark is one step.
 *
 * What the world does is assumed to be this, and no more:
 * - what is taken, and not being processed under a request, shows in the certificates before the settle window since the last mark is over (the longer of the sender's
 *   and the judge's); one certificate may come later (SLOW), but is shown to a look that begins after a release;
 * - one that shows in no look (HIDDEN) has used the balance of its IRM when the window is over, but not before it is issued; a
 *   person who is right knows of it, and the ledger what it read: perhaps nothing before the send, and nothing since the window;
 *   what is given back (GIVES) hides a use, and shows itself, as a rise or an amendment;
 * - whose a request is that a person named shows in the portal when the window is over;
 * - where no look is possible for a whole window, the portal shows by then what a look would have shown;
 * - one person may be wrong (LIES); the other says what the portal shows.
 * A -D switch removes one guard: see runs.mjs.
 */

#ifndef NO_LISTS
#define NO_LISTS false               /* the first snapshot never has a list, so that nothing is certified by details */
#endif
#define ATTEMPTS 4                    /* 0 and 1 are filing 0's, 2 and 3 filing 1's */
#define OF(a) ((a) / 2)
#define OTHER(a) ((a) ^ 1)
#define FIRST(f) ((f) * 2)
#define HAS(a) ((a) < 2 && (a) < ATTEMPTS0 || (a) >= 2 && (a) - 2 < ATTEMPTS1)

/* attempts.verdict */
#define A_NONE 0
#define A_OPEN 1
#define A_MARKED 2
#define A_ACCEPTED 3
#define A_REFUSED 4
#define A_UNSENT 5
#define A_REJECTED 6
#define A_ABSENT 7
#define NOT_FILED(a) (att[a] == A_REFUSED || att[a] == A_UNSENT || att[a] == A_ABSENT)
#define MAYBE_FILED(a) (att[a] == A_MARKED || att[a] == A_ACCEPTED)

/* filing_rows.state */
#define R_NONE 0
#define R_PLANNED 1
#define R_SUBMITTED 2                 /* submitted or unknown */
#define R_CERTIFIED 3
#define R_ABANDONED 4
#define R_FREED 5                     /* needs a correction, or withdrawn */
#define R_CORRECTED 6                 /* freed, and taken over by filing 1 */
#define LIVE(f) (row[f] >= R_PLANNED && row[f] <= R_ABANDONED)
#define SENT(f) (row[f] == R_SUBMITTED || row[f] == R_ABANDONED)

/* what became of a send, which nobody knows */
#define T_NONE 0
#define T_TRAVELLING 1
#define T_NOTHING 2                   /* lost, refused, or never written */
#define T_TAKEN 3                     /* becomes a certificate */
#define T_BAD 4                       /* taken, and Errored in the end */

/* requests.state */
#define Q_NONE 0
#define Q_FOLLOWED 1
#define Q_ENDED 2                     /* Errored */
#define Q_ABSENT 3
#define Q_PROCESSED 4
#define Q_NOT_OURS 5                  /* two persons said that it is another filing's */
/* A request that is followed, and of which the service says that it does not know it, or that nothing of it was filed. */
#define DENIED(x) (req[x] == Q_FOLLOWED && stated[x])
#define NAMED_DENIED (named == Q_FOLLOWED && namedStated)

/* a certificate that is none of these sends': bit 4 of the masks */
#define S_NONE 0
#define S_OLD 1                       /* of the same document, from before the first mark */
#define S_FOREIGN 2                   /* the same document and amount, of another remittance */
#define S_SIBLING 3                   /* an equal tranche's, which was filed beside this one */
#define S_CANCELLED 4
#define S_OTHER 5                     /* the same remittance and document with another amount, from a request that a person may name */
#define STRANGER 4
#define BIT(c) (1 << (c))

byte row[2];
bit ended[2];
byte att[ATTEMPTS];
byte req[ATTEMPTS];
bit stated[ATTEMPTS];                 /* the service says that it does not know the request */
bit released[2];                      /* a release `absent` of the filing's rows stands */
bit checked[2];                       /* the balances were checked since the last attempt */
byte byRecord; byte otherwise;        /* certificates that a row has, by its request's record or not */
byte known;                           /* certificates that the ledger has, from looks and records */
byte unnamed = 255;                   /* less those that two persons named as not these rows' */
byte certified[2];                    /* the number of the row's certificate, + 1 */

/* the named request of filing 0 */
byte named; bit namedRight; byte namedOf; bit namedAgain; bit namedStated;
/* while it is denied: whether that was for a whole window, and whether a look began and balances were read after that */
bit deniedThrough; bit lookAfterDenial; bit beganAfterDenial; bit readAfterDenial;

/* windows: 0 running, 1 over for a process with a short one, 2 over for the sender's */
byte window[2];
/* looks: whether a complete one began after the window and the newest statement of the filing, and after the newest release */
bit lookAfterWindow[2]; bit lookAfterRelease;
bit looking; bit beganAfterWindow[2]; bit beganAfterRelease; byte begun;
/* balances: whether they were read before the filing's first send, whether since its window, and a use that no certificate explains */
bit measured[2]; bit readSince[2]; bit unexplained; bit back; bit rose;

/* one person's word that stands: about an attempt, from ATTEMPTS on about what the send gate keeps back of a filing, or about the named request */
#define OF_NAMED 6
byte wordOf; byte wordAbout; byte wordNames; bit wordUnseen;
byte permits;                         /* persons who permitted filing 1 beside filing 0 in doubt */

/* the world */
byte truth[ATTEMPTS];
bit answered[ATTEMPTS];               /* somebody still has the acceptance in hand */
byte issued; byte shown;
byte stranger; bit away; bit changed; /* details are away for whole windows; filing 1 has another document */
bit marked; bit listed;               /* the lineage was marked once; its first snapshot has a list */
byte list1;                           /* what was shown when filing 1 was first marked */
bit slow; bit concealed; byte liar; bit used; bit fresh; bit siblingHas; bit told; byte replays = 1;
byte a, f, k, m, n, who;

/* What a random walk hardly ever meets, for the sample that test/conformance drives: a search ends there. */
#define TOO_EARLY 1
#define SAID_AT_GATE 2
#ifdef GOAL_CLOSED
#define GOAL (named == Q_NOT_OURS && att[0] == A_ABSENT)
#elif defined(GOAL_CLOSED_ALONE)
#define GOAL (named == Q_NOT_OURS && att[0] == A_MARKED)
#elif defined(GOAL_REJECTED)
#define GOAL (named == Q_NOT_OURS && att[0] == A_REJECTED)
#elif defined(GOAL_TOO_EARLY)
#define GOAL (noted == TOO_EARLY && named == Q_NOT_OURS)
#elif defined(GOAL_NAMED_AFTER)
#define GOAL (named == Q_FOLLOWED && att[0] == A_MARKED && att[1] == A_UNSENT)
#elif defined(GOAL_NAMED_AT_GATE)
#define GOAL (noted == SAID_AT_GATE && stranger == S_FOREIGN && att[1] == A_MARKED)
#endif
#ifdef GOAL
byte noted;
#define NOTE(what) noted = what
#else
#define NOTE(what) skip
#endif

#define TAKEN(x) (truth[x] == T_TAKEN -> 1 : 0)
#define CERTIFICATES (TAKEN(0) + TAKEN(1) + TAKEN(2) + TAKEN(3))
#define OWN 15
#define FILED_OF(f) (truth[FIRST(f)] == T_TAKEN || truth[FIRST(f) + 1] == T_TAKEN)
#define COUNT(v) (((v) & 1) + (((v) >> 1) & 1) + (((v) >> 2) & 1) + (((v) >> 3) & 1) + (((v) >> 4) & 1))
#if HIDDEN > 0
/* What a reading of the balances shows: a use that no certificate of a row accounts for, ours or another's. */
#ifdef LITTLE_LEFT_IS_ANOTHERS
#define SHOWS_USE (COUNT(issued) > COUNT(byRecord | otherwise) && !used && !back)
#else
#define SHOWS_USE ((COUNT(issued) > COUNT(byRecord | otherwise) || used) && !back)
#endif
#ifdef UNMEASURED_COUNTS
#define MEASURED(f) true
#define UNEXPLAINED(f) (unexplained && measured[f])
#else
#define MEASURED(f) measured[f]
#define UNEXPLAINED(f) unexplained
#endif
#ifdef OLD_READING_COUNTS
#define READ_SINCE(f) true
#else
#define READ_SINCE(f) (readSince[f] && SINCE_DENIAL(f, readAfterDenial))
#endif
/* What a person who is right sees: the certificates in the portal, and what an IRM was used for. */
#define SHOWS_AS_FILED ((shown & OWN) != 0 || CERTIFICATES > 0)
#define UNISSUED(x) (truth[x] == T_TAKEN && !(issued & BIT(x)) && !(ASKED_ABOUT(x)))
#define HIDES(f) (!concealed && !away && !(UNISSUED(FIRST(f))) && !(UNISSUED(FIRST(f) + 1)))
#else
#define SHOWS_AS_FILED ((shown & OWN) != 0)
#define HIDES(f) false
#endif
#if HIDDEN == 0 || defined(USE_NOT_ASKED)
#define USED(f) false
#else
#define USED(f) (!MEASURED(f) || !READ_SINCE(f) || UNEXPLAINED(f) || ROSE)
#endif
#ifdef GIVEN_BACK_COUNTS_NOT
#define ROSE false
#else
#define ROSE rose
#endif
#define MAY_LIE(who) (LIES > 0 && (liar == 0 || liar == (who)))
#define must(holds, what) if :: holds :: else -> printf(what); assert(false) fi

#ifdef TRACES
#define SHOW printf("@= %d %d %d %d %d %d %d %d %d %d %d %d %d %d\n", row[0], row[1], att[0], att[1], att[2], att[3], req[0], req[1], req[2], req[3], named, released[0], released[1], known)
#else
#define SHOW
#endif

/* ---- What the gates look at ---- */

#define FOLLOWED(f) (req[FIRST(f)] == Q_FOLLOWED || req[FIRST(f) + 1] == Q_FOLLOWED || (f) == 0 && named == Q_FOLLOWED)
/* Another request of the submission is being asked about, and was not denied for a whole window. */
#define ASKED(x) (req[x] == Q_FOLLOWED && !(DENIED(x) && window[OF(x)] == 2))
#define NAMED_ASKED (named == Q_FOLLOWED && !(NAMED_DENIED && deniedThrough))
#ifdef UNFINISHED_IS_FREED
#define OTHER_UNFINISHED(a) false
#define UNFINISHED(f) false
#else
#define OTHER_UNFINISHED(a) (ASKED(OTHER(a)) || OF(a) == 0 && NAMED_ASKED)
#define UNFINISHED(f) (ASKED(FIRST(f)) || ASKED(FIRST(f) + 1) || (f) == 0 && NAMED_ASKED)
#endif

#ifdef NO_WINDOW
#define WINDOW_OVER(f) true
#elif defined(OWN_WINDOW)
#define WINDOW_OVER(f) (window[f] >= 1)
#else
#define WINDOW_OVER(f) (window[f] == 2 && ((f) == 1 || !(NAMED_DENIED) || deniedThrough))
#endif
/* What was looked at before a named request was denied does not count for the attempt that it was named for. */
#ifdef LOOK_FROM_BEFORE_DENIAL
#define SINCE_DENIAL(f, after) true
#else
#define SINCE_DENIAL(f, after) ((f) == 1 || !(NAMED_DENIED) || after)
#endif

#ifdef NO_LOOK
#define LOOKED(f) true
#else
#define LOOKED(f) (lookAfterWindow[f] && SINCE_DENIAL(f, lookAfterDenial))
#endif

/* Certificates that agree with a filing's rows, in any identity of their lineage. */
#ifdef FIRST_LIST_COUNTS_NOT
#define IN_LIST(f) 0
#elif defined(OWN_LIST)
#define IN_LIST(f) ((f) == 1 -> list1 : (stranger == S_OLD && listed -> BIT(STRANGER) : 0))
#else
#define IN_LIST(f) (stranger == S_OLD && listed -> BIT(STRANGER) : 0)
#endif
#ifdef OWN_DOCUMENT
#define AGREES_WITH(f) (changed -> ((f) == 0 -> 3 + BIT(STRANGER) : 12) : 255)
#define RELEASED(f) (released[f] || !changed && released[1 - (f)])
#else
#define AGREES_WITH(f) 255
#define RELEASED(f) (released[0] || released[1])
#endif
#ifdef HELD_BY_DETAILS_COUNTS
#define HELD (byRecord | otherwise)
#else
#define HELD byRecord
#endif
#ifdef AGREEING_IS_FREED
#define AGREEING(f) 0
#else
#define AGREEING(f) (known & AGREES_WITH(f) & ~(IN_LIST(f)) & ~HELD)
#endif

/* ---- What the gates do ---- */

inline undeny() { namedStated = 0; deniedThrough = 0; lookAfterDenial = 0; beganAfterDenial = 0; readAfterDenial = 0 }

/* Said before a window began again, it counts for nothing; about whose a named request is, by the last mark's window. */
inline forgetWordOf(f) {
  if
  :: (wordAbout < ATTEMPTS && OF(wordAbout) == f || wordAbout == OF_NAMED && f == 0) && (wordNames & BIT(5 + namedAgain)) == 0 ->
     wordOf = 0; wordAbout = 0; wordNames = 0; wordUnseen = 0
  :: else
  fi
}

inline newWindow(f) {
  window[f] = 0; lookAfterWindow[f] = 0; beganAfterWindow[f] = 0; readSince[f] = 0;
#ifndef WORD_OUTLIVES_WINDOW
  if :: wordAbout < ATTEMPTS && OF(wordAbout) == f || wordAbout == OF_NAMED && f == 0 -> wordOf = 0; wordAbout = 0; wordNames = 0; wordUnseen = 0 :: else fi
#endif
}

inline noteRelease(f, isLooked) {
  released[f] = 1;
  lookAfterRelease = isLooked; beganAfterRelease = 0;
  wordOf = 0; wordAbout = 0; wordNames = 0; wordUnseen = 0
}

inline closeOpen(f) {
  if :: att[FIRST(f)] == A_OPEN -> att[FIRST(f)] = A_UNSENT :: else fi;
  if :: att[FIRST(f) + 1] == A_OPEN -> att[FIRST(f) + 1] = A_UNSENT :: else fi
}

#define NONE_MAYBE_FILED(f) (!(MAYBE_FILED(FIRST(f))) && !(MAYBE_FILED(FIRST(f) + 1)))
/* The rows go out again, where nothing else of the submission may be at the service; their balances are checked again. */
inline planAgain(f) {
  if
  :: row[f] == R_SUBMITTED && NONE_MAYBE_FILED(f) -> row[f] = R_PLANNED; fresh = 0;
#ifndef BALANCES_ONCE
     checked[f] = 0
#endif
  :: else
  fi
}

inline freeRows(f) { closeOpen(f); row[f] = R_FREED; ended[f] = 1 }

/* It was sent after all: rows are held again, unsent rows of the lineage stopped. */
inline hold(f) {
  released[f] = 0;
#ifndef STOPPED_GOES_ON
  if
  :: f == 0 && row[1] == R_PLANNED || f == 1 && row[0] == R_PLANNED -> freeRows(1 - f)
  :: else
  fi;
#endif
  if
#ifdef CORRECTED_STAYS_FREE
  :: row[f] == R_PLANNED || row[f] == R_FREED
#else
  :: row[f] == R_PLANNED || row[f] == R_FREED || row[f] == R_CORRECTED
#endif
     -> row[f] = (ended[f] -> R_ABANDONED : R_SUBMITTED)
  :: else
  fi
}

inline accept(a) {
  if :: att[OTHER(a)] == A_OPEN -> att[OTHER(a)] = A_UNSENT :: else fi;
  if
#ifdef ACCEPTED_STAYS_FREE
  :: false
#else
  :: att[a] != A_MARKED || !LIVE(OF(a)) -> hold(OF(a))
#endif
  :: else
  fi;
  att[a] = A_ACCEPTED; answered[a] = 0;
  if :: req[a] == Q_NONE -> req[a] = Q_FOLLOWED :: else fi
}

/* Rows are rejected once every request has ended and no attempt is in doubt. */
#define IN_DOUBT(a) (att[a] == A_OPEN || att[a] == A_MARKED)
#define OWN_ERRORED(f) (req[FIRST(f)] == Q_ENDED || req[FIRST(f) + 1] == Q_ENDED)
#ifdef NAMED_REJECTS
#define ERRORED(f) (OWN_ERRORED(f) || (f) == 0 && NAMED_DENIED)
#else
#define ERRORED(f) OWN_ERRORED(f)
#endif
#ifdef REJECTED_BESIDE_REQUEST
#define ALL_ENDED(f) true
#else
#define ALL_ENDED(f) (!(FOLLOWED(f)))
#endif
#ifdef REJECTED_BESIDE_DOUBT
#define NO_DOUBT(f) true
#else
#define NO_DOUBT(f) (!(IN_DOUBT(FIRST(f))) && !(IN_DOUBT(FIRST(f) + 1)))
#endif
inline rejectWhenOver(f) {
  if
  :: ERRORED(f) && ALL_ENDED(f) && NO_DOUBT(f) && SENT(f) ->
     freeRows(f);
     if :: att[FIRST(f)] == A_ACCEPTED -> att[FIRST(f)] = A_REJECTED :: else fi;
     if :: att[FIRST(f) + 1] == A_ACCEPTED -> att[FIRST(f) + 1] = A_REJECTED :: else fi
  :: else
  fi
}

inline certify(f, c, bits) {
  must((c) != STRANGER || (unnamed & BIT(STRANGER)), "@ broken | a row is certified by what two persons said is another's\n");
  row[f] = R_CERTIFIED; certified[f] = c + 1; ended[f] = 1; closeOpen(f);
  bits = bits | BIT(c)
}

/* Subjects of an absence: an attempt in doubt, or its request of which the service says that it does not know it. */
#define ATTEMPT_ABSENT(a) (att[a] == A_MARKED && SENT(OF(a)) && !(UNFINISHED(OF(a))))
#define REQUEST_ABSENT(a) (req[a] == Q_FOLLOWED && stated[a] && SENT(OF(a)) && !(OTHER_UNFINISHED(a)) && att[OTHER(a)] != A_MARKED)
/* A request that a person named, which decides on the attempt in doubt. Where nothing was written, only it is ended. */
#define NAMED_ABSENT (NAMED_DENIED && (SENT(0) || row[0] == R_PLANNED) && !(ASKED(0)) && !(ASKED(1)) && !(att[0] == A_MARKED && att[1] == A_MARKED))
#ifdef ABSENT_AT_ONCE
#define SUBJECT(a) (att[a] == A_MARKED || req[a] == Q_FOLLOWED)
#else
#define SUBJECT(a) (ATTEMPT_ABSENT(a) || REQUEST_ABSENT(a))
#endif
#define IS_SUBJECT(a) (k == OF_NAMED -> NAMED_ABSENT : SUBJECT(a))

#define REFUSED_SINCE(a) (OTHER(a) > a && att[OTHER(a)] == A_REFUSED)
/* k: what it is said of. Of the named request, rows are freed, and the attempt in doubt is absent with it. */
inline releaseAbsent(a, isLooked) {
  if :: k == OF_NAMED && row[0] == R_PLANNED :: else -> noteRelease(OF(a), isLooked) fi;
  if
  :: k == OF_NAMED && row[0] == R_PLANNED -> named = Q_ABSENT; undeny()
  :: k == OF_NAMED && row[0] != R_PLANNED ->
     named = Q_ABSENT; undeny(); if :: att[a] == A_MARKED -> att[a] = A_ABSENT :: else fi; freeRows(0)
  :: k != OF_NAMED && att[a] == A_MARKED ->
     att[a] = A_ABSENT;
#ifndef DENIED_IS_FOLLOWED
     if :: OF(a) == 0 && NAMED_DENIED && !(MAYBE_FILED(OTHER(a))) -> named = Q_ABSENT; undeny() :: else fi;
#endif
     if
     :: (ended[OF(a)] || REFUSED_SINCE(a)) && !(MAYBE_FILED(OTHER(a))) -> freeRows(OF(a))
     :: else -> planAgain(OF(a)); rejectWhenOver(OF(a))
     fi;
     must(row[OF(a)] != R_PLANNED || !(FOLLOWED(OF(a))), "@ broken | rows are planned, and nothing is sent while a request is followed\n")
  :: else -> req[a] = Q_ABSENT; att[a] = A_ABSENT; stated[a] = 0; freeRows(OF(a))
  fi
}

#include "gates-words.pml"

/* ---- The send gate ---- */

#ifdef ONE_PERMITS
#define PERMITTED_BESIDE (permits >= 1)
#else
#define PERMITTED_BESIDE (permits == 2)
#endif

#ifdef NO_OTHER_ATTEMPT_CHECK
#define OTHERS_NOT_FILED(a) true
#else
#define OTHERS_NOT_FILED(a) (att[OTHER(a)] == A_NONE || NOT_FILED(OTHER(a)))
#endif
#ifdef PREDECESSOR_MAY_LIVE
#define ALONE(f) true
#else
#define ALONE(f) (!LIVE(1 - (f)) || PERMITTED_BESIDE && (f) == 1)
#endif
#ifdef NO_LOOK_AT_MARK
#define ABSENCE_CONFIRMED(f) true
#elif defined(OLD_LOOK_AT_MARK)
#define ABSENCE_CONFIRMED(f) (!(RELEASED(f)) || (AGREEING(f) & unnamed) == 0)
#else
#define ABSENCE_CONFIRMED(f) CONFIRMED(f)
#endif
#ifdef NO_BALANCES
#define BALANCED(f) true
#else
#define BALANCED(f) checked[f]
#endif
#define MARK_ALLOWED(a) (att[a] == A_OPEN && OTHERS_NOT_FILED(a) && row[OF(a)] == R_PLANNED && !ended[OF(a)] && ALONE(OF(a)) && BALANCED(OF(a)) && ABSENCE_CONFIRMED(OF(a)))

/* ---- Time: the window is over when what is taken is shown; one certificate may come later ---- */

/* A request that is being followed may take longer, as long as the service does not deny it. */
#define ASKED_ABOUT(x) (req[x] == Q_FOLLOWED && !stated[x] || named == Q_FOLLOWED && !namedStated && namedRight && namedOf == (x))
#define UNSHOWN(x) (truth[x] == T_TRAVELLING || truth[x] == T_TAKEN && !(shown & BIT(x)) && !(ASKED_ABOUT(x)))
#define ALL_SHOWN(f) (!(UNSHOWN(FIRST(f))) && !(UNSHOWN(FIRST(f) + 1)))
#define TRAVELS(f) (truth[FIRST(f)] == T_TRAVELLING || truth[FIRST(f) + 1] == T_TRAVELLING)
#define LATE_SHOWN (!slow || !(released[0] && !(ALL_SHOWN(0))) && !(released[1] && !(ALL_SHOWN(1))))

/* Candidates by details: rows that were sent and have no certificate, certificates that no row has. */
#define IS_CANDIDATE(f) (SENT(f) || (row[f] == R_PLANNED || row[f] == R_FREED) && (att[FIRST(f)] == A_ABSENT || att[FIRST(f) + 1] == A_ABSENT))
#define SIBLING_COMPETES (stranger == S_SIBLING && !siblingHas)
#ifdef OTHERS_DO_NOT_COMPETE
#define ROWS_FOR(f) 1
#else
#define ROWS_FOR(f) (1 + (IS_CANDIDATE(1 - (f)) && !changed -> 1 : 0) + (SIBLING_COMPETES -> 1 : 0))
#endif
#ifdef CANCELLED_CERTIFIES
#define NOT_ISSUED 0
#else
#define NOT_ISSUED (stranger == S_CANCELLED -> BIT(STRANGER) : 0)
#endif
#ifdef OLD_CERTIFIES
#define OLD_ONES 0
#else
#define OLD_ONES (stranger == S_OLD && listed -> BIT(STRANGER) : 0)
#endif
#define FITS(f) ((changed -> ((f) == 0 -> 3 + BIT(STRANGER) : 12) : 255) & ~(stranger == S_OTHER -> BIT(STRANGER) : 0))
/* What two persons said is another's, and what one says as long as the word stands. */
#ifdef SAID_NOT_OURS_COUNTS_NOT
#define NOT_OURS 0
#define SAID_BY_ONE 0
#else
#define NOT_OURS ~unnamed
#define SAID_BY_ONE (wordOf != 0 -> wordNames : 0)
#endif
#define FREE_ONES(f) (known & FITS(f) & ~(byRecord | otherwise) & ~(NOT_ISSUED) & ~(OLD_ONES) & ~(NOT_OURS))
#ifdef WITHOUT_LIST
#define LIST_READ true
#else
#define LIST_READ listed
#endif
/* The use of the IRM has grown by what is certified on it: another remittance's certificate leaves it as it was. */
#ifdef BALANCE_NOT_ASKED
#define BALANCE_AGREES true
#else
/* What another send may have used counts until a look begins after its own window, while its request is processed, and where
 * another certificate fits it. */
#define IS_PROCESSING(x) (req[x] == Q_FOLLOWED && !stated[x])
#define UNTOLD(f) (IS_PROCESSING(FIRST(f)) || IS_PROCESSING(FIRST(f) + 1) || (f) == 0 && named == Q_FOLLOWED && !namedStated)
#ifdef ONE_USE_FOR_TWO
#define MAY_HAVE_USED(f) false
#else
#define MAY_HAVE_USED(f) (SENT(f) && (!beganAfterWindow[f] || UNTOLD(f)) || IS_CANDIDATE(f) && (FREE_ONES(f) & OWN) != 0)
#endif
#define BALANCE_AGREES (CERTIFICATES + (stranger == S_SIBLING -> 1 : 0) >= COUNT(byRecord | otherwise) + 1 + (MAY_HAVE_USED(1 - (f)) -> 1 : 0))
#endif

inline byDetails(f) {
  if
  :: IS_CANDIDATE(f) && LIST_READ && COUNT(FREE_ONES(f)) > 0 && COUNT(FREE_ONES(f)) == ROWS_FOR(f) && (FREE_ONES(f) & SAID_BY_ONE) == 0 && BALANCE_AGREES ->
     if :: !LIVE(f) -> hold(f) :: else fi;
     n = 0; do :: (FREE_ONES(f) & BIT(n)) == 0 -> n++ :: else -> break od;
     certify(f, n, otherwise);
     if :: n == STRANGER && stranger == S_SIBLING -> siblingHas = 1; byRecord = byRecord | (issued & OWN) :: else fi;
     printf("@ run %d | certify by details, certificate %d\n", f, n); n = 0
  :: else
  fi
}

/* ---- Steps ---- */

/* A refusal: a submission that it ends is freed, unless an earlier attempt was judged absent. */
inline refused(x) {
  planAgain(OF(x));
  if
  :: row[OF(x)] == R_PLANNED ->
     if
#ifndef REFUSED_FREES_ALL
     :: att[OTHER(x)] == A_ABSENT -> att[OTHER(x)] = A_MARKED; released[OF(x)] = 0; row[OF(x)] = R_SUBMITTED
     :: att[OTHER(x)] != A_ABSENT -> freeRows(OF(x))
#else
     :: freeRows(OF(x)); must(!(FILED_OF(OF(x))), "@ broken | refused because an earlier attempt was filed, and freed\n")
#endif
     :: skip                          /* one that lets it go again */
     fi
  :: else
  fi
}

/* What the request of attempt x says: the number of its certificate, or one that cannot be the row's. */
inline record(x) {
  known = known | BIT(x);
  if
#ifdef RECORD_BELIEVED
  :: stranger == S_OLD && listed && (shown & BIT(STRANGER)) && row[OF(x)] != R_CERTIFIED -> certify(OF(x), STRANGER, byRecord); printf("@ run %d | certify by the record, an old certificate\n", OF(x))
#endif
  :: (byRecord | otherwise) & BIT(x) -> printf("@ run %d | the record names a certificate that a row has\n", OF(x))
  :: row[OF(x)] == R_CERTIFIED && !((byRecord | otherwise) & BIT(x)) -> printf("@ run %d | the record names another certificate than the row's\n", OF(x))
  :: row[OF(x)] != R_CERTIFIED && !((byRecord | otherwise) & BIT(x)) ->
     if :: !LIVE(OF(x)) -> hold(OF(x)) :: else fi;
     if
     :: LIVE(OF(x)) -> certify(OF(x), x, byRecord); printf("@ run %d | certify by the record of attempt %d\n", OF(x), x)
     :: else -> printf("@ run %d | the row of the record is free\n", OF(x))
     fi
  fi
}

#ifdef NO_STATEMENT_RESTART
#define STATEMENT_RESTARTS(x) skip
#else
#define STATEMENT_RESTARTS(x) newWindow(OF(x))
#endif
#ifdef OWN_WINDOW
#define JUDGED_SHORT(f) (window[f] >= 1)
#elif defined(NO_WINDOW)
#define JUDGED_SHORT(f) true
#else
#define JUDGED_SHORT(f) false
#endif
#ifdef INCOMPLETE_LOOK_COUNTS
#define INCOMPLETE_COUNTS true
#else
#define INCOMPLETE_COUNTS false
#endif
#ifdef LINEAGE_NOT_HELD
#define REPLAY_STANDS true
#else
#define REPLAY_STANDS (!LIVE(1))
#endif
/* A record has no amount: of a request that a person named, the details of the certificate have to be known, and the row's. */
#ifdef NAMED_WITHOUT_DETAILS
#define DETAILS_KNOWN(c) true
#define DETAILS_FIT 255
#else
#define DETAILS_KNOWN(c) (known & BIT(c))
#define DETAILS_FIT FITS(0)
#endif
/* Closed while the service was asked, it answers all the same. */
#ifdef CLOSED_CERTIFIES
#define NAMED_ANSWERS (named == Q_FOLLOWED || named == Q_NOT_OURS)
#else
#define NAMED_ANSWERS (named == Q_FOLLOWED)
#endif

#ifdef OPENS_WITHOUT_LOOK
#define OPENS(f) true
#else
#define OPENS(f) ABSENCE_CONFIRMED(f)
#endif
#define TO_OPEN(x) (HAS(x) && row[OF(x)] == R_PLANNED && !ended[OF(x)] && !(FOLLOWED(OF(x))) && att[x] == A_NONE && (x == FIRST(OF(x)) || NOT_FILED(OTHER(x))) && OPENS(OF(x)))
/* What was used elsewhere is missing, unless a correction with another document takes another IRM, or less. */
#define TO_CHECK(f) (row[f] == R_PLANNED && !checked[f] && (!used || (f) == 1 && changed))
#define TRAVELLING(x) (truth[x] == T_TRAVELLING)
#define IS_ANSWERED(x) answered[x]
#define TO_ISSUE(x) (truth[x] == T_TAKEN && !(issued & BIT(x)))
#define TO_SHOW(x) ((issued & BIT(x)) && !(shown & BIT(x)))
/* It may deny a request, or end it without accounting for the row, although the certificate is issued (not beside balances,
 * which makes too many states). */
#define MAY_STATE(x) (req[x] == Q_FOLLOWED && !stated[x] && (HIDDEN == 0 || !(issued & BIT(x))) && STATEMENTS)
#define HAS_STATED(x) (stated[x] && req[x] == Q_FOLLOWED)
#define IS_PROCESSED(x) (req[x] == Q_FOLLOWED && (issued & BIT(x)))
#define IS_ERRORED(x) (req[x] == Q_FOLLOWED && truth[x] == T_BAD)
#define TO_CONCLUDE(x) (REQUEST_ABSENT(x) && WINDOW_OVER(OF(x)) && LOOKED(OF(x)) && (AGREEING(OF(x)) & unnamed) == 0 && !(USED(OF(x))))
#define CONCLUDES_NAMED (NAMED_ABSENT && WINDOW_OVER(0) && LOOKED(0) && (AGREEING(0) & unnamed) == 0 && !(USED(0)))
/* Chooses an attempt of which P holds; the step is not there where it holds of none. */
#define CHOOSE(P) (P(0) || P(1) || P(2) || P(3)) -> if :: P(0) -> a = 0 :: P(1) -> a = 1 :: P(2) -> a = 2 :: P(3) -> a = 3 fi

proctype Everything() {
end:
  do
  /* filings */
  :: atomic { row[1] == R_NONE && !LIVE(0) && row[0] != R_NONE && ATTEMPTS1 > 0 ->
       row[1] = R_PLANNED; if :: row[0] == R_FREED -> row[0] = R_CORRECTED :: else fi;
       printf("@ run 1 | open filing 1, which takes the rows of filing 0 over\n"); SHOW }
  :: atomic { row[1] == R_NONE && SENT(0) && ATTEMPTS1 > 0 && permits < 2 && (permits == 1 || MAY_LIE(1)) ->
       /* persons permit a second one beside a row in doubt: the second of them means it */
       if :: permits == 0 -> liar = 1 :: else fi; permits++;
       printf("@ person %d | permits filing 1 beside filing 0\n", permits); SHOW }
  :: atomic { row[1] == R_NONE && SENT(0) && PERMITTED_BESIDE ->
       row[1] = R_PLANNED; printf("@ run 1 | open filing 1 beside filing 0\n"); SHOW }
#ifdef REPLAYED_FILES_AGAIN
  :: atomic { replays > 0 && (row[0] == R_FREED || row[0] == R_CORRECTED) && REPLAY_STANDS && ATTEMPTS0 > 1 && att[1] == A_NONE ->
       replays--; row[0] = R_PLANNED; ended[0] = 0; checked[0] = 0; printf("@ run 0 | open filing 0 once more\n"); SHOW }
#endif
  :: atomic { TO_CHECK(0) || TO_CHECK(1) ->
       if :: TO_CHECK(0) -> checked[0] = 1; fresh = USES :: TO_CHECK(1) -> checked[1] = 1 fi;
       printf("@ run | check the balances\n"); SHOW }
  :: atomic { used && row[0] == R_PLANNED && !checked[0] -> freeRows(0); printf("@ run 0 | too little is left: the rows are freed\n"); SHOW }
#if HIDDEN > 0
  :: atomic { marked && (window[0] == 2 && !readSince[0] || window[1] == 2 && !readSince[1] || deniedThrough && !readAfterDenial || rose != back || unexplained != (SHOWS_USE -> 1 : 0)) ->
       unexplained = SHOWS_USE; rose = back; readSince[0] = window[0] == 2; readSince[1] = window[1] == 2; readAfterDenial = deniedThrough; printf("@ run | read the balances\n"); SHOW }
#endif
  :: atomic { !used && USES && att[0] != A_NONE && att[0] != A_OPEN && (row[0] == R_PLANNED && !fresh || HIDDEN && SENT(0)) && att[1] == A_NONE ->
       used = 1; printf("@ world | the IRM is used elsewhere\n"); SHOW }
#if GIVES > 0
  :: atomic { !back && marked -> back = 1; printf("@ world | something of the IRM is given back\n"); SHOW }
#endif
  :: atomic { CHOOSE(TO_OPEN) ->
       if :: a == 2 -> list1 = shown :: else fi;
       att[a] = A_OPEN; printf("@ run %d | open attempt %d\n", OF(a), a); a = 0; SHOW }
  /* the send gate */
  :: atomic { CHOOSE(MARK_ALLOWED) ->
       must(!used || a > 1 && changed, "@ broken | sent although the balance was used\n");
       att[a] = A_MARKED; row[OF(a)] = R_SUBMITTED; truth[a] = T_TRAVELLING; newWindow(OF(a));
#if HIDDEN > 0
       if :: !measured[OF(a)] -> measured[OF(a)] = 1 :: skip fi;
#endif
       if :: !marked -> marked = 1; if :: !NO_LISTS -> listed = 1 :: listed = 0 fi :: else fi;
       printf("@ exec %d | mark attempt %d\n", a, a); a = 0; SHOW }
  /* the service */
  :: atomic { CHOOSE(TRAVELLING) ->
       if
       :: truth[a] = T_TAKEN; answered[a] = 1; printf("@ service | take attempt %d\n", a)
       :: truth[a] = T_BAD; answered[a] = 1; printf("@ service | take attempt %d, which will be Errored\n", a)
       :: truth[a] = T_NOTHING; printf("@ service | attempt %d is lost\n", a)
       :: truth[a] = T_NOTHING; if :: att[a] == A_MARKED -> att[a] = A_UNSENT; planAgain(OF(a)) :: else fi; printf("@ exec %d | nothing of attempt %d was written\n", a, a)
       :: truth[a] = T_NOTHING; if :: att[a] == A_MARKED -> att[a] = A_REFUSED; refused(a) :: else fi; printf("@ service | refuse attempt %d: row=%d\n", a, row[OF(a)])
#ifdef ODD_ANSWER_REFUSES
       :: truth[a] = T_TAKEN; if :: att[a] == A_MARKED -> att[a] = A_REFUSED; refused(a) :: else fi; printf("@ service | take attempt %d, and answer with a code about something else: row=%d\n", a, row[OF(a)])
#endif
       fi; a = 0; SHOW }
  :: atomic { CHOOSE(IS_ANSWERED) -> accept(a); printf("@ exec %d | store the acceptance of attempt %d\n", a, a); a = 0; SHOW }
  :: atomic { CHOOSE(IS_ANSWERED) -> answered[a] = 0; printf("@ exec %d | the answer of attempt %d is lost\n", a, a); a = 0; SHOW }
  :: atomic { CHOOSE(TO_ISSUE) -> issued = issued | BIT(a); printf("@ authority | issue certificate %d\n", a); a = 0; SHOW }
  :: atomic { CHOOSE(TO_SHOW) -> shown = shown | BIT(a); printf("@ authority | show certificate %d\n", a); a = 0; SHOW }
  /* requests */
  :: atomic { CHOOSE(MAY_STATE) -> stated[a] = 1; STATEMENT_RESTARTS(a); printf("@ service | does not know the request of attempt %d\n", a); a = 0; SHOW }
  :: atomic { CHOOSE(HAS_STATED) -> stated[a] = 0; newWindow(OF(a)); printf("@ service | processes the request of attempt %d\n", a); a = 0; SHOW }
  :: atomic { CHOOSE(IS_PROCESSED) -> req[a] = Q_PROCESSED; stated[a] = 0; record(a); a = 0; SHOW }
  :: atomic { CHOOSE(IS_ERRORED) -> req[a] = Q_ENDED; stated[a] = 0; rejectWhenOver(OF(a)); printf("@ run %d | the request of attempt %d is Errored: row=%d\n", OF(a), a, row[OF(a)]); a = 0; SHOW }
  :: atomic { CHOOSE(TO_CONCLUDE) -> k = a; releaseAbsent(a, 0); k = 0; printf("@ run %d | conclude that the request of attempt %d is absent\n", OF(a), a); a = 0; SHOW }
  /* persons */
  :: atomic { CHOOSE(SUBJECT) -> if :: who = 1 :: who = 2 fi; k = a; word(); who = 0; k = 0; a = 0; SHOW }
#if NAMED > 0
  :: atomic { (named == Q_NONE || NAMED > 1 && !namedAgain && (named == Q_ABSENT || named == Q_NOT_OURS || NAMED_DENIED && !namedRight)) && (MAYBE_FILED(0) || MAYBE_FILED(1)) && SENT(0) && !ended[0] ->
       namedAgain = named != Q_NONE; namedOf = IN_QUESTION; undeny();
       if
       :: (truth[namedOf] == T_TAKEN || truth[namedOf] == T_BAD) && req[namedOf] == Q_NONE -> namedRight = 1
       :: MAY_LIE(1) -> liar = 1; namedRight = 0
       fi;
       named = Q_FOLLOWED; printf("@ person 1 | names a request of attempt %d (right: %d)\n", namedOf, namedRight); SHOW }
  :: atomic { named == Q_NONE && !MAYBE_FILED(0) && !MAYBE_FILED(1) && (att[0] == A_ABSENT || att[1] == A_ABSENT) && row[0] != R_CERTIFIED ->
       namedOf = (att[0] == A_ABSENT -> 0 : 1);
       if
       :: (truth[namedOf] == T_TAKEN || truth[namedOf] == T_BAD) && req[namedOf] == Q_NONE -> namedRight = 1
       :: MAY_LIE(1) -> liar = 1; namedRight = 0
       fi;
#ifndef NAMED_STAYS_FREE
       closeOpen(0); att[namedOf] = A_MARKED; hold(0);
#endif
       named = Q_FOLLOWED; printf("@ person 1 | names a request of attempt %d (right: %d)\n", namedOf, namedRight); SHOW }
  :: atomic { named == Q_FOLLOWED && !namedStated && (!namedRight || truth[namedOf] == T_BAD || truth[namedOf] == T_TAKEN && !(issued & BIT(namedOf)) && STATEMENTS) ->
       namedStated = 1; forgetWordOf(0); printf("@ service | says that nothing of the named request was filed\n"); SHOW }
  :: atomic { NAMED_DENIED && namedRight && truth[namedOf] == T_TAKEN ->
       undeny(); forgetWordOf(0); printf("@ service | processes the named request\n"); SHOW }
  :: atomic { named == Q_FOLLOWED && namedRight && DETAILS_KNOWN(namedOf) && (issued & BIT(namedOf)) ->
       named = Q_PROCESSED; undeny(); record(namedOf); SHOW }
  /* One that is another's: perhaps of a tranche that is equal, perhaps of another amount. */
  :: atomic { NAMED_ANSWERS && !namedRight && (stranger == S_OTHER || stranger == S_SIBLING) && (shown & BIT(STRANGER)) && DETAILS_KNOWN(STRANGER) ->
       if
       :: (DETAILS_FIT & BIT(STRANGER) & ~(NOT_OURS)) && !((byRecord | otherwise) & BIT(STRANGER)) && row[0] != R_CERTIFIED ->
          must(named != Q_NOT_OURS, "@ broken | a row is certified by a request that two persons closed as another's\n");
          if :: !LIVE(0) -> hold(0) :: else fi;
          certify(0, STRANGER, byRecord); printf("@ run 0 | certify by the named request, which is another's\n")
       :: else -> printf("@ run 0 | the named request names what the row cannot have\n")
       fi;
       named = Q_PROCESSED; undeny(); SHOW }
  :: atomic { NAMED_ABSENT -> a = (att[0] == A_MARKED -> 0 : 1); k = OF_NAMED; if :: who = 1 :: who = 2 fi; word(); who = 0; k = 0; a = 0; SHOW }
  :: atomic { CONCLUDES_NAMED -> a = (att[0] == A_MARKED -> 0 : 1); k = OF_NAMED; releaseAbsent(a, 0); printf("@ run 0 | conclude that the named request is absent\n"); k = 0; a = 0; SHOW }
  :: atomic { named == Q_FOLLOWED && (MAYBE_FILED(0) || MAYBE_FILED(1)) -> if :: who = 1 :: who = 2 fi; a = IN_QUESTION; k = a; wordOfRequest(); who = 0; k = 0; a = 0; SHOW }
#endif
  :: atomic { KEPT_BACK(0) || KEPT_BACK(1) -> if :: KEPT_BACK(0) -> f = 0 :: KEPT_BACK(1) -> f = 1 fi; if :: who = 1 :: who = 2 fi; wordAtGate(); who = 0; f = 0; SHOW }
  /* strangers */
  :: atomic { stranger != S_NONE && !(shown & BIT(STRANGER)) && (stranger == S_OLD -> !marked : marked) ->
       shown = shown | BIT(STRANGER); printf("@ authority | show another certificate of the document, kind %d\n", stranger); SHOW }
  :: atomic { stranger == S_SIBLING && !siblingHas && (shown & BIT(STRANGER)) && !(byRecord & BIT(STRANGER)) ->
       siblingHas = 1; known = known | BIT(STRANGER); byRecord = byRecord | BIT(STRANGER); printf("@ run | the sibling has its certificate, by its own record\n"); SHOW }
  /* looks */
  :: atomic { !looking && !away && marked && LATE_SHOWN ->
       looking = 1; begun = shown; beganAfterDenial = deniedThrough; beganAfterRelease = released[0] || released[1];
       beganAfterWindow[0] = (window[0] == 2 || JUDGED_SHORT(0)); beganAfterWindow[1] = (window[1] == 2 || JUDGED_SHORT(1));
       printf("@ run | begin to look at the certificates\n"); SHOW }
  :: atomic { looking ->
#ifdef LOOK_BY_ITS_END
       beganAfterRelease = released[0] || released[1];
       for (f : 0 .. 1) { beganAfterWindow[f] = window[f] == 2 }
       f = 0;
#endif
       if
       :: known = known | begun;
          lookAfterWindow[0] = lookAfterWindow[0] || beganAfterWindow[0]; lookAfterWindow[1] = lookAfterWindow[1] || beganAfterWindow[1];
          lookAfterRelease = lookAfterRelease || beganAfterRelease; lookAfterDenial = lookAfterDenial || beganAfterDenial;
          printf("@ run | a complete look\n");
          k = 0; do :: k < 2 -> byDetails(k); k++ :: else -> break od; k = 0
       :: INCOMPLETE_COUNTS ->
          lookAfterWindow[0] = lookAfterWindow[0] || beganAfterWindow[0]; lookAfterRelease = lookAfterRelease || beganAfterRelease;
          printf("@ run | a look that is not complete\n")
       :: printf("@ run | a look that is not complete\n")
       fi;
       looking = 0; begun = 0; beganAfterDenial = 0; beganAfterWindow[0] = 0; beganAfterWindow[1] = 0; beganAfterRelease = 0; SHOW }
#if AWAY > 1
  /* from here on, for a whole window and longer */
  :: atomic { !away && marked && !looking && (window[0] == 2 || !SENT(0)) && (window[1] == 2 || !SENT(1)) && (!slow || ALL_SHOWN(0) && ALL_SHOWN(1)) ->
       away = 1; printf("@ time | no look is possible for a whole window\n"); SHOW }
#endif
  /* time */
#define TIME(f) \
  :: atomic { window[f] == 0 && marked && !(TRAVELS(f)) && SHORT_WINDOWS -> window[f] = 1; printf("@ time | the window of filing %d is over for a process with a short one\n", f); SHOW } \
  :: atomic { window[f] < 2 && marked && !(TRAVELS(f)) && (SENT(f)) && (ALL_SHOWN(f) || SLOW > 0 && !slow && !away || HIDES(f)) -> \
       if :: ALL_SHOWN(f) :: !(ALL_SHOWN(f)) && SLOW > 0 && !slow && !away -> slow = 1 :: !(ALL_SHOWN(f)) && HIDES(f) -> concealed = 1 fi; window[f] = 2; printf("@ time | the window of filing %d is over\n", f); SHOW }
  TIME(0)
  TIME(1)
  :: atomic { NAMED_DENIED && !deniedThrough && !(TRAVELS(0)) && (SENT(0) || row[0] == R_PLANNED) && (ALL_SHOWN(0) || SLOW > 0 && !slow && !away || HIDES(0)) ->
       if :: ALL_SHOWN(0) :: !(ALL_SHOWN(0)) && SLOW > 0 && !slow && !away -> slow = 1 :: !(ALL_SHOWN(0)) && HIDES(0) -> concealed = 1 fi;
       deniedThrough = 1; window[0] = 2; printf("@ time | the named request was denied for a window\n"); SHOW }
  /* an operator gives a filing up */
  :: atomic { ABANDONS && !ended[0] && row[0] != R_NONE ->
       ended[0] = 1;
       if
       :: row[0] == R_PLANNED -> freeRows(0)
       :: row[0] == R_SUBMITTED -> row[0] = R_ABANDONED; closeOpen(0)
       :: else
       fi;
       printf("@ operator | abandon filing 0: row=%d\n", row[0]); SHOW }
  od
}

/* ---- What must hold ---- */

/* Of two requests that the service denies, one is absent before the other: then rows may be free
 * that are followed, if nothing comes of it, or something late, which the look before the next send shows. */
#define HELD_WHILE(x) (!(att[x] == A_MARKED || att[x] == A_ACCEPTED && req[x] == Q_FOLLOWED && (truth[x] == T_TAKEN && !slow || !STATEMENTS && named == Q_NONE)) || LIVE(OF(x)))
proctype Monitor() {
  do
#ifdef GOAL
  :: atomic { GOAL -> assert(false) }
#endif
  :: atomic { CERTIFICATES > 1 + (permits == 2 -> 1 : 0) -> printf("@ broken | more certificates than mappings\n"); assert(false) }
  :: atomic { (row[0] == R_CERTIFIED -> 1 : 0) + (row[1] == R_CERTIFIED -> 1 : 0) + (siblingHas -> 1 : 0) > CERTIFICATES + (stranger == S_SIBLING -> 1 : 0) -> printf("@ broken | more rows are certified than were filed\n"); assert(false) }
  :: atomic { (certified[0] == STRANGER + 1 || certified[1] == STRANGER + 1) && (stranger == S_OLD || stranger == S_CANCELLED || stranger == S_OTHER) -> printf("@ broken | an old, a cancelled or another row's certificate certifies a row\n"); assert(false) }
  :: atomic { named == Q_FOLLOWED && namedRight && truth[namedOf] == T_TAKEN && !(SENT(0) || row[0] == R_CERTIFIED) || !(HELD_WHILE(0) && HELD_WHILE(1) && HELD_WHILE(2) && HELD_WHILE(3)) -> printf("@ broken | an attempt is in doubt or accepted, and its rows are free\n"); assert(false) }
  od
}

init {
  atomic {
    row[0] = R_PLANNED;
    if :: STRANGERS == 2 -> if :: stranger = S_OTHER :: stranger = S_SIBLING fi :: STRANGERS == 1 -> if :: stranger = S_OLD :: stranger = S_FOREIGN :: stranger = S_SIBLING :: stranger = S_CANCELLED fi :: else fi;
    if :: AWAY == 1 -> away = 1 :: else fi;
    if :: CHANGED > 0 -> changed = 1 :: else fi;
    run Everything(); run Monitor()
  }
}
