/* ---- Words: two persons, of whom one may be wrong. What the right one says is what the portal shows. ---- */

#ifdef ONE_PERSON
#define SECOND(who, a) true
#define BOTH m
#else
#ifdef SAME_PERSON_TWICE
#define SECOND(who, a) (wordOf != 0 && wordAbout == a)
#elif defined(ANY_SUBJECT)
#define SECOND(who, a) (wordOf != 0 && wordOf != who)
#else
#define SECOND(who, a) (wordOf != 0 && wordOf != who && wordAbout == a)
#endif
#ifdef EITHER_NAMES
#define BOTH (wordNames | m)
#else
#define BOTH (wordNames & m)
#endif
#endif

/* The attempt that a person answers of filing 0. */
#define IN_QUESTION (MAYBE_FILED(1) -> 1 : 0)
/* The named request's number, among the numbers that a word names. */
#define REQUEST (5 + namedAgain)
#define OF_CERTIFICATES 31

#ifdef NOT_OURS_BY_ONE
#define SECOND_OF_REQUEST(who, a) true
#elif defined(NOT_OURS_OF_ANOTHER)
#define SECOND_OF_REQUEST(who, a) SECOND(who, a)
#else
#define SECOND_OF_REQUEST(who, a) (SECOND(who, a) && (wordNames & BIT(REQUEST)))
#endif
#ifdef NOT_OURS_EARLY
#define REQUEST_WINDOW_OVER true
#else
#define REQUEST_WINDOW_OVER (window[0] == 2)
#endif

/* m: the numbers that the person names as not the row's; k: the attempt that it is said of, or the named request */
inline word() {
  f = OF(a);
  if :: k == OF_NAMED -> printf("@ person %d | speaks of the named request\n", who) :: else fi;
  if
  :: !(SHOWS_AS_FILED) -> m = shown; n = 0; told = 1
  :: MAY_LIE(who) && SHOWS_AS_FILED -> liar = who; m = shown; n = 1; told = 1; printf("@ person %d | is wrong\n", who)
  :: else -> told = 0                 /* it was filed, by what the portal shows */
  fi;
  if
  :: !told
  :: told && !IS_SUBJECT(a) -> printf("@ person %d | attempt %d was not filed: refused, nothing to answer\n", who, a)
#ifdef EARLY_WORD_STANDS
  :: told && IS_SUBJECT(a) && !(WINDOW_OVER(f)) && wordOf == 0 -> wordOf = who; wordAbout = k; wordNames = m; wordUnseen = away; printf("@ person %d | attempt %d was not filed: too early, and stands\n", who, a)
  :: told && IS_SUBJECT(a) && !(WINDOW_OVER(f)) && wordOf != 0
#else
  :: told && IS_SUBJECT(a) && !(WINDOW_OVER(f)) -> printf("@ person %d | attempt %d was not filed: refused, too early\n", who, a)
#endif
  :: told && IS_SUBJECT(a) && WINDOW_OVER(f) && LOOKED(f) && (AGREEING(f) & unnamed) == 0 && (!(USED(f)) || SECOND(who, k)) ->
     releaseAbsent(a, 0); printf("@ person %d | attempt %d was not filed: row=%d\n", who, a, row[f])
  :: told && IS_SUBJECT(a) && WINDOW_OVER(f) && LOOKED(f) && (AGREEING(f) & unnamed) == 0 && USED(f) && !(SECOND(who, k)) ->
     wordOf = who; wordAbout = k; wordNames = m; wordUnseen = 0; printf("@ person %d | attempt %d was not filed, although its IRM was used: stands\n", who, a)
  :: told && IS_SUBJECT(a) && WINDOW_OVER(f) && !(LOOKED(f)) && !away -> printf("@ person %d | attempt %d was not filed: refused, no look\n", who, a)
  :: told && IS_SUBJECT(a) && WINDOW_OVER(f) && !(LOOKED(f)) && away ->
     if
     :: SECOND(who, k) && wordUnseen -> releaseAbsent(a, 1); printf("@ person %d | attempt %d was not filed, unseen: row=%d\n", who, a, row[f])
     :: else -> wordOf = who; wordAbout = k; wordNames = m; wordUnseen = 1; printf("@ person %d | attempt %d was not filed, unseen: stands\n", who, a)
     fi
  :: told && IS_SUBJECT(a) && WINDOW_OVER(f) && LOOKED(f) && (AGREEING(f) & unnamed) != 0 ->
     if
     :: SECOND(who, k) && (AGREEING(f) & unnamed & ~(BOTH)) == 0 ->
        printf("@ person %d | attempt %d was not filed, nor the certificates %d: carried out\n", who, a, m); unnamed = unnamed & ~(BOTH); releaseAbsent(a, 0)
     :: else -> wordOf = who; wordAbout = k; wordNames = m; wordUnseen = 0; printf("@ person %d | attempt %d was not filed, nor the certificates %d: stands\n", who, a, m)
     fi
  fi;
  m = 0; n = 0; told = 0; f = 0
}

inline forgetWord() { wordOf = 0; wordAbout = 0; wordNames = 0; wordUnseen = 0 }

/* What follows: attempt a was not filed, and the named request is another filing's. */
inline wordOfRequest() {
  if
  :: !(SHOWS_AS_FILED) && (!namedRight || window[0] != 2) -> told = 1      /* before, the portal does not show whose it is */
  :: MAY_LIE(who) && !(!(SHOWS_AS_FILED) && (!namedRight || window[0] != 2)) -> liar = who; told = 1
  :: else -> told = 0
  fi;
  m = shown | BIT(REQUEST);
  if
  :: !told
  :: told && !(REQUEST_WINDOW_OVER) -> NOTE(TOO_EARLY); printf("@ person %d | attempt %d was not filed, its named request is not ours: refused, too early\n", who, a)
  :: told && REQUEST_WINDOW_OVER && !(SECOND_OF_REQUEST(who, a)) ->
     wordOf = who; wordAbout = a; wordNames = m; wordUnseen = away; printf("@ person %d | attempt %d was not filed, its named request is not ours: stands\n", who, a)
  :: told && REQUEST_WINDOW_OVER && SECOND_OF_REQUEST(who, a) ->
     must(!namedRight, "@ broken | a request of the row is closed as another filing's\n");
     named = Q_NOT_OURS; undeny(); rejectWhenOver(0);
     if
     :: SUBJECT(a) && WINDOW_OVER(0) && LOOKED(0) && (AGREEING(0) & unnamed) == 0 -> releaseAbsent(a, 0)
     :: SUBJECT(a) && WINDOW_OVER(0) && !(LOOKED(0)) && away && wordUnseen -> releaseAbsent(a, 1)
     :: SUBJECT(a) && WINDOW_OVER(0) && LOOKED(0) && (AGREEING(0) & unnamed) != 0 && (AGREEING(0) & unnamed & ~(BOTH)) == 0 ->
        unnamed = unnamed & ~(BOTH & OF_CERTIFICATES); releaseAbsent(a, 0)
     :: else -> forgetWord()
     fi;
     printf("@ person %d | attempt %d was not filed, its named request is not ours: closed, row=%d\n", who, a, row[0])
  fi;
  m = 0; told = 0
}

/* ---- What two persons say at the send gate, where rows that were released as absent wait ---- */

#define CONFIRMED(f) (!(RELEASED(f)) || lookAfterRelease && (AGREEING(f) & unnamed) == 0)
#define KEPT_BACK(f) (row[f] == R_PLANNED && !ended[f] && !(CONFIRMED(f)))
/* Where a look is possible, words do not stand for it. */
#ifdef UNSEEN_ANYWAY
#define LOOK_IMPOSSIBLE true
#else
#define LOOK_IMPOSSIBLE away
#endif
#ifdef WORDS_BEFORE_LOOK
#define LOOKED_AT_GATE true
#else
#define LOOKED_AT_GATE lookAfterRelease
#endif
#ifdef WORDS_ARE_A_LOOK
#define STANDS_FOR_LOOK true
#else
#define STANDS_FOR_LOOK (!LOOKED_AT_GATE)
#endif
#ifdef SEND_BY_ONE
#define SECOND_AT_GATE(who, f) true
#define SAID_BY_BOTH m
#else
#define SECOND_AT_GATE(who, f) (SECOND(who, ATTEMPTS + (f)) && (LOOKED_AT_GATE || wordUnseen))
#define SAID_BY_BOTH (wordNames & m)
#endif
#ifdef WORDS_COVER_LATER
#define COUNTS_AT_GATE OF_CERTIFICATES
#else
#define COUNTS_AT_GATE SAID_BY_BOTH
#endif

/* Of filing f. What both named counts beside the release; where no look was possible, their words stand for it. */
inline wordAtGate() {
  if
  :: !(SHOWS_AS_FILED) -> told = 1
  :: MAY_LIE(who) && SHOWS_AS_FILED -> liar = who; told = 1
  :: else -> told = 0
  fi;
  m = shown;
  if
  :: !told
  :: told && !(LOOKED_AT_GATE) && !(LOOK_IMPOSSIBLE) -> printf("@ person %d | filing %d at the gate: refused, no look\n", who, f)
  :: told && (LOOKED_AT_GATE || LOOK_IMPOSSIBLE) && (AGREEING(f) & unnamed & ~m) != 0 -> printf("@ person %d | filing %d at the gate: refused, a certificate is not named\n", who, f)
  :: told && (LOOKED_AT_GATE || LOOK_IMPOSSIBLE) && (AGREEING(f) & unnamed & ~m) == 0 ->
     if
     :: SECOND_AT_GATE(who, f) && (AGREEING(f) & unnamed & ~(SAID_BY_BOTH)) == 0 ->
        unnamed = unnamed & ~(COUNTS_AT_GATE); n = STANDS_FOR_LOOK; noteRelease(f, n); n = 0; NOTE(SAID_AT_GATE);
        printf("@ person %d | filing %d at the gate: carried out\n", who, f)
     :: else -> wordOf = who; wordAbout = ATTEMPTS + f; wordNames = m; wordUnseen = away || LOOK_IMPOSSIBLE; printf("@ person %d | filing %d at the gate: stands\n", who, f)
     fi
  fi;
  m = 0; told = 0
}
